"""Processes that run for a farm in a directory: how to find and end them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.demo.processes import NOTE, STOP_GRACE_S
from buildbot_bench.lab.job import Job
from buildbot_bench.lab.locks import is_locked

_POLL_S = 0.05
_KILLED_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A process that leads a session; its name is that of its log."""

    name: str
    pid: int


def running(directory: Path) -> list[Running]:
    """The children that live, by their notes, in the order of their names."""
    notes = [note for note in sorted(directory.glob(f"*{NOTE}")) if is_locked(note)]
    return [Running(name=note.stem, pid=pid) for note in notes if (pid := _number_in(note))]


def end_all(directory: Path, *, grace_s: float = STOP_GRACE_S) -> None:
    """End all children with all that is in their sessions, then the jobs of the lab.

    A child has `grace_s` to end in order. A job is left unfinished: who asks for it takes it up.
    """
    found = running(directory)
    for child in found:
        _signal(child.pid, signal.SIGTERM)
    _wait_while(lambda: bool(running(directory)), grace_s)
    for child in found:
        _kill_session(child.pid)
    _wait_while(lambda: bool(running(directory)), _KILLED_S)
    for job in _jobs(directory):
        job.end_runner()
    if left := running(directory):
        numbers = " ".join(str(child.pid) for child in left)
        raise InfraError(
            f"{', '.join(child.name for child in left)} of the farm in {directory} cannot be ended",
            hint=f"end it as the user who started it: kill -9 {numbers}",
        )


def _number_in(note: Path) -> int:
    """The number that a child that was just started writes at once; 0 if it ended before."""
    _wait_while(lambda: is_locked(note) and not note.read_text().endswith("\n"), _KILLED_S)
    text = note.read_text().strip()
    return int(text) if text.isdecimal() and is_locked(note) else 0


def _kill_session(leader: int) -> None:
    """Kill a leader that we know was alive just now, and the process groups of its session."""
    for pid in _processes():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    """All processes of this machine, asked of the system without ps(1) where that goes."""
    if numbers := [int(path.name) for path in Path("/proc").glob("[0-9]*")]:
        return numbers
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid="],  # noqa: S607 - wherever the system has it
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) for line in listing.stdout.split()]


def _jobs(directory: Path) -> list[Job]:
    jobs: list[Job] = []
    for place in directory.glob("*/state/jobs/*/"):
        with suppress(UsageError):  # no job's name: none of ours
            jobs.append(Job(place.parents[1], place.name))
    return jobs


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _wait_while(condition: Callable[[], bool], limit_s: float) -> None:
    deadline_s = time.monotonic() + limit_s
    while condition() and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)
