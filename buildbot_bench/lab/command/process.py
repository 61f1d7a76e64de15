"""One contained run of a command: bounded in time, output and disk, with no process left.

On Linux all that descends from the command ends with it; elsewhere its process group does.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
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

    `wall_s` and `user_s` are of the command and of the children that it waited for. `left` counts
    the processes that it left behind, which were ended.
    """

    words: tuple[str, ...]
    status: int | None
    wall_s: float = 0.0
    user_s: float = 0.0
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
    """A command that runs; used as a context it is over, with all that it started, at the end.

    Raises InfraError when it cannot be supervised.
    """

    def __init__(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str], confines: Confines
    ) -> None:
        self._words = tuple(words)
        self._confines = confines
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
        self._process = _supervise(spec)

    def wait(self) -> Ran:
        """Wait for its end.

        Raises:
            InfraError: The supervisor was killed, or processes cannot be ended.
        """
        try:
            told = self._process.stdout.readline() if self._process.stdout else b""
        finally:
            self.close()
        try:
            found = json.loads(told)
        except ValueError as error:
            raise InfraError(
                f"what supervises {one_line(self._words[0])} ended without a word",
                hint="see whether the machine has memory left",
            ) from error
        return _ran(self._words, found)

    def ended(self) -> bool:
        """Whether it is over already."""
        output = self._process.stdout
        return output is None or bool(select.select([output], [], [], 0)[0])

    def stop(self) -> Ran:
        """End it, unless it is over; fails as `wait` does."""
        if self._process.stdin:
            self._process.stdin.close()
        return self.wait()

    def close(self) -> None:
        """End it, and wait until nothing is left; may be called often."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


def run_contained(
    words: Sequence[str], cwd: Path, env: Mapping[str, str], confines: Confines
) -> Ran:
    """Run a command to its end; fails as `Contained` does."""
    with Contained(words, cwd, env, confines) as running:
        return running.wait()


def _supervise(spec: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """Start a supervisor; in a session of its own, as it has to outlive who kills ours.

    Raises:
        InfraError: It cannot be started.
    """
    # -P: what lies in the current directory is not imported.
    words = [sys.executable, "-P", "-m", "buildbot_bench.lab.command.supervisor"]
    try:
        process = subprocess.Popen(  # noqa: S603 - our own module
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        if process.stdin:
            process.stdin.write(json.dumps(spec).encode() + b"\n")
            process.stdin.flush()
    except OSError as error:
        raise InfraError(f"cannot start a process: {error}") from error
    return process


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
        user_s=told["user_s"],
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
    """The last lines of a stream, legible and bounded."""
    end = (output.tail or output.head)[-8 * _LAST_CHARACTERS :].decode("utf-8", "replace")
    lines = [line for line in several_lines(end).split("\n") if line.strip()][-_LAST_LINES:]
    return "\n".join(lines)[-_LAST_CHARACTERS:]
