"""One contained run of a command: bounded in time, output and disk, with no process left."""

from __future__ import annotations

import atexit
import base64
import errno
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import long_line, one_line, several_lines
from buildbot_bench.core.limits import MIB, spoken

KEPT_BYTES = 4 * MIB  # of each stream, half of them its head and half its tail
# Chosen: what a system needs to go on while people make room.
RESERVE_BYTES = 256 * MIB
_PATIENCE_S = 60.0  # beyond the command's own time, for a supervisor on a busy machine
_LAST_LINES, _LAST_CHARACTERS = 20, 2000


class Stop(StrEnum):
    """Why a command was ended: its time, what it wrote, a disk that others filled, our wish."""

    NONE = ""
    TIMEOUT = "timeout"
    DISK = "disk"
    FULL = "full"
    ASKED = "asked"


@dataclass(frozen=True, kw_only=True, slots=True)
class Confines:
    """What a command may take: seconds, bytes on the disk, processors (all if there is none).

    `random_addresses` leaves the system its random layout of the address space; `places` are the
    directories that it writes to, besides where it runs.
    """

    timeout_s: float = 600.0
    disk_bytes: int = 4096 * MIB
    cpus: tuple[int, ...] = ()
    random_addresses: bool = True
    places: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """What a stream had: all of it, or head and tail of it; `size` in bytes is of all."""

    head: bytes = b""
    tail: bytes = b""
    size: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return len(self.head) + len(self.tail) == self.size

    def text(self) -> str:
        """All that was kept; a line says how much was not."""
        if self.whole:
            return (self.head + self.tail).decode("utf-8", "replace")
        lost = self.size - len(self.head) - len(self.tail)
        gap = f"\n[{spoken(lost)} are not kept]\n"
        return self.head.decode("utf-8", "replace") + gap + self.tail.decode("utf-8", "replace")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """How a command ended. `status` is negative for a signal, None when it had to be ended.

    `wall_s`, `user_s` and `system_s` are of the command and of the children that it waited for.
    `left` counts the processes that it left behind, which were ended.
    """

    words: tuple[str, ...]
    status: int | None
    wall_s: float = 0.0
    user_s: float = 0.0
    system_s: float = 0.0
    stdout: Output = field(default_factory=Output)
    stderr: Output = field(default_factory=Output)
    left: int = 0
    stop: Stop = Stop.NONE
    errno: int = 0
    error: str = ""

    @property
    def program(self) -> str:
        """The first word."""
        return one_line(self.words[0])

    @property
    def not_runnable(self) -> bool:
        """Whether the program is there, but none that this machine can run."""
        return self.errno == errno.ENOEXEC

    def ending(self) -> str:
        """How it ended, in words."""
        if self.error:
            return f"cannot be started: {long_line(self.error)}"
        if self.status is None:
            return f"was ended after {self.wall_s:.3g} s"
        if self.status < 0:
            return f"was killed by {_signal_name(-self.status)}"
        return f"ended with status {self.status}"

    def last_lines(self) -> str:
        """The end of what it printed, for a person: of stdout, then of stderr."""
        parts = [_last(output) for output in (self.stdout, self.stderr)]
        return "\n".join(part for part in parts if part) or "(it printed nothing)"


class Contained:
    """A command that runs; used as a context it is over, with all that it started, at the end."""

    def __init__(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str], confines: Confines
    ) -> None:
        self._words = tuple(words)
        self._turn = threading.Lock()
        _check_cpus(confines.cpus)
        free = shutil.disk_usage(cwd).free
        if free < RESERVE_BYTES:
            raise InfraError(
                f"{spoken(free)} are free on the disk of {cwd}", hint="make room and try again"
            )
        spec = {
            "words": list(words),
            "cwd": str(cwd),
            "env": dict(env),
            "keep": KEPT_BYTES,
            "timeout_s": confines.timeout_s,
            "disk": confines.disk_bytes,
            "reserve": RESERVE_BYTES // 2,
            "cpus": list(confines.cpus),
            "random_addresses": confines.random_addresses,
            "places": [str(place) for place in (cwd, *confines.places)],
        }
        self._supervisor: _Supervisor | None = _begin(spec)

    def wait(self) -> Ran:
        """Wait for its end."""
        supervisor = self._supervisor
        told = supervisor.answer() if supervisor else b""
        try:
            found = json.loads(told)
        except ValueError as error:
            self.close()
            raise InfraError(
                f"what supervises {one_line(self._words[0])} ended without a word",
                hint="see whether the machine has memory left",
            ) from error
        if found.get("stopped") == Stop.ASKED or found.get("survivors"):
            self.close()
        elif (supervisor := self._taken()) is not None:
            _IDLE.put(supervisor)
        return _ran(self._words, found)

    def ended(self) -> bool:
        """Whether it is over already."""
        return self._supervisor is None or self._supervisor.has_answered()

    def close(self) -> None:
        """End it, and wait until nothing is left; may be called often, and by other threads."""
        if (supervisor := self._taken()) is not None:
            supervisor.end()

    def _taken(self) -> _Supervisor | None:
        """Return the supervisor to whom asks first; None to all others."""
        with self._turn:
            supervisor, self._supervisor = self._supervisor, None
        return supervisor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def run_contained(
    words: Sequence[str], cwd: Path, env: Mapping[str, str], confines: Confines
) -> Ran:
    """Run a command to its end; fails as `Contained` does."""
    with Contained(words, cwd, env, confines) as running:
        return running.wait()


class _Supervisor:
    """A process that runs commands, one at a time (supervisor.py).

    It is in a session of its own, as it has to outlive who kills ours.
    """

    def __init__(self) -> None:
        # -P: what lies in the current directory is not imported.
        words = [sys.executable, "-P", "-m", "buildbot_bench.lab.command.supervisor"]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._input, self._output = self._process.stdin, self._process.stdout

    def tell(self, spec: Mapping[str, Any]) -> bool:
        """Have it run a command; return False when it is dead."""
        if self._input is None or self._process.poll() is not None:
            return False
        try:
            self._input.write(json.dumps(spec).encode() + b"\n")
            self._input.flush()
        except OSError:
            return False
        return True

    def answer(self) -> bytes:
        """Wait for what came of the command; empty when it died or was ended."""
        with suppress(ValueError):  # another thread has closed it
            return self._output.readline() if self._output else b""
        return b""

    def has_answered(self) -> bool:
        """Return whether the command is over."""
        return self._output is None or bool(select.select([self._output], [], [], 0)[0])

    def end(self) -> None:
        """End it, and all that it runs."""
        with suppress(OSError):
            if self._input:
                self._input.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._output:
            self._output.close()


class _Idle:
    """The supervisors that run nothing, kept until this process ends."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._kept: list[_Supervisor] = []
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

    def take(self) -> _Supervisor | None:
        """Return one of them, for the caller alone; None if there is none."""
        with self._turn:
            return self._kept.pop() if self._kept else None

    def put(self, supervisor: _Supervisor) -> None:
        """Keep a supervisor whose command is over."""
        with self._turn:
            self._kept.append(supervisor)

    def _forget(self) -> None:
        """Leave them to the process from which this one was forked."""
        self._turn, self._kept = threading.Lock(), []

    def _end(self) -> None:
        while (supervisor := self.take()) is not None:
            supervisor.end()


_IDLE = _Idle()


def _begin(spec: Mapping[str, Any]) -> _Supervisor:
    while (kept := _IDLE.take()) is not None:
        if kept.tell(spec):
            return kept
        kept.end()
    try:
        started = _Supervisor()
    except OSError as error:
        raise InfraError(f"cannot start a process: {error}") from error
    if not started.tell(spec):
        started.end()
        raise InfraError("what is to supervise a command died at its start")
    return started


def _ran(words: tuple[str, ...], told: Mapping[str, Any]) -> Ran:
    if "error" in told:
        return Ran(words=words, status=None, errno=told["errno"], error=told["error"])
    if told["survivors"]:
        raise InfraError(
            f"{told['survivors']} processes of {one_line(words[0])} cannot be ended",
            hint="look for them with ps, and end them",
        )
    return Ran(
        words=words,
        status=told["status"],
        wall_s=told["wall_s"],
        user_s=told.get("user_s", 0.0),
        system_s=told.get("system_s", 0.0),
        stdout=_output(told["stdout"]),
        stderr=_output(told["stderr"]),
        left=told["left"],
        stop=Stop(told["stopped"]),
    )


def _output(told: Mapping[str, Any]) -> Output:
    head, tail = (base64.b64decode(told[part]) for part in ("head", "tail"))
    return Output(head=head, tail=tail, size=told["size"])


def _check_cpus(cpus: tuple[int, ...]) -> None:
    if not cpus:
        return
    if not hasattr(os, "sched_setaffinity"):
        raise InfraError("this system cannot pin a process to `cpus`", hint="remove the key")
    if missing := set(cpus) - os.sched_getaffinity(0):
        listed = ", ".join(map(str, sorted(missing)))
        raise InfraError(
            f"this machine has no processor {listed} for us", hint="correct the key `cpus`"
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last(output: Output) -> str:
    end = (output.tail or output.head)[-8 * _LAST_CHARACTERS :].decode("utf-8", "replace")
    lines = [line for line in several_lines(end).split("\n") if line.strip()][-_LAST_LINES:]
    return "\n".join(lines)[-_LAST_CHARACTERS:]
