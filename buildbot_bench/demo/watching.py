"""The keeper of a farm's directory: one farm at a time, its processes begun and ended together."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.lab.files import is_locked, try_lock
from buildbot_bench.lab.job import Job, send_signal, wait_while
from buildbot_bench.plugin.private_files import PRIVATE_UMASK
from buildbot_bench.programs import output_of

NOTE = ".running"
"""A child's note beside its log is locked as long as the child lives, and has its number."""
# It writes its own number down before it is what was asked for: whoever starts it may be killed.
_NOTED = ("/bin/sh", "-c", 'echo "$$" >"$0" && exec "$@"')
STOP_GRACE_S = 20.0
# What a killed one had just forked holds its lock until it has become another program.
_FORK_GRACE_S = 5.0
_TAIL_LINES = 15


@dataclass(kw_only=True, slots=True)
class Child:
    """One process with its own log file; it may be started again after it ended."""

    name: str
    command: Sequence[str]
    cwd: Path
    env: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches only us."""
        note = self.log.with_suffix(NOTE)
        lock = _lock(note)
        if lock is None:
            raise InfraError(f"{self.name}: it runs already", hint=f"see the process in {note}")
        try:
            self.log.touch(mode=0o600)
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(  # noqa: S603 - a list of our own making
                    [*_NOTED, str(note), *self.command],
                    cwd=self.cwd,
                    env={**os.environ, **self.env},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    umask=PRIVATE_UMASK,
                    pass_fds=(lock,),
                )
        finally:
            os.close(lock)  # the child has it

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def stop(self, signum: int = signal.SIGTERM, *, grace_s: float = STOP_GRACE_S) -> None:
        """Ask it to end, and end it when it does not."""
        if self.process is None or not self.running:
            return
        self.process.send_signal(signum)
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self.process is not None and self.running:
            self.process.kill()
            self.process.wait()

    def tail(self) -> str:
        """The last lines of its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])


def _lock(note: Path) -> int | None:
    """The descriptor that holds a note's lock, or None when its process goes on and on."""
    deadline = time.monotonic() + _FORK_GRACE_S
    while (lock := try_lock(note)) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    return lock


def wait_until(
    condition: Callable[[], bool], *, what: str, timeout_s: float, child: Child | None = None
) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        ended = child is not None and not child.running
        if ended or time.monotonic() > deadline:
            words = f":\n{child.tail()}" if child else ""
            why = f"{child.name} ended" if child and ended else f"not within {timeout_s:.0f} s"
            raise InfraError(f"{what}: {why}{words}")
        time.sleep(0.1)


def answers(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def must_be_free(*ports: int) -> None:
    """See that nothing listens on these ports of this machine."""
    for port in ports:
        if answers(port):
            raise InfraError(
                f"port {port} is taken", hint="stop what listens there, or choose another port"
            )


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
        send_signal(os.kill, child.pid, signal.SIGTERM)
    wait_while(lambda: bool(running(directory)), grace_s)
    for child in found:
        # Kill a leader that we know was alive just now, and the process groups of its session
        for pid in _processes():
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(pid) == child.pid:
                    os.kill(pid, signal.SIGKILL)
    wait_while(lambda: bool(running(directory)), _KILLED_S)
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
    wait_while(lambda: is_locked(note) and not note.read_text().endswith("\n"), _KILLED_S)
    text = note.read_text().strip()
    return int(text) if text.isdecimal() and is_locked(note) else 0


def _processes() -> list[int]:
    """All processes of this machine, asked of the system without ps(1) where that goes."""
    if numbers := [int(path.name) for path in Path("/proc").glob("[0-9]*")]:
        return numbers
    return [int(line) for line in output_of(["ps", "-A", "-o", "pid="]).split()]


def _jobs(directory: Path) -> list[Job]:
    jobs: list[Job] = []
    for place in directory.glob("*/state/jobs/*/"):
        with suppress(UsageError):  # no job's name: none of ours
            jobs.append(Job(place.parents[1], place.name))
    return jobs


_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
# Held by the keeper alone, and by the keeper and then its watchdog.
_KEEPER, _LOCK = "keeper.lock", "watchdog.lock"
_LOG = "watchdog.log"
_POLL_S = 0.1
# For a watchdog to end what the last keeper left: children have their grace, jobs theirs.
_PATIENCE_S = 3 * STOP_GRACE_S


class Stopped(BaseException):
    """This signal asks us to end; raised once, wherever we are."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def watched(
    directory: Path, say: Callable[[str], None], *, grace_s: float = STOP_GRACE_S
) -> Iterator[None]:
    """Have a directory to oneself; what has notes there has ended before and ends afterwards.

    Inside, SIGHUP, SIGINT and SIGTERM raise Stopped. Raises UsageError when another process keeps
    a farm there, and InfraError for what cannot be ended.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with _signals_to_end(), _alone(directory) as lock:
        if left := running(directory):
            names = _listed([child.name for child in left])
            say(f"An earlier farm was left over in {directory}: ending its {names}.")
            end_all(directory, grace_s=grace_s)
        with _watchdog(directory, lock, grace_s):
            try:
                yield
            finally:
                end_all(directory, grace_s=grace_s)


def clear(directory: Path) -> None:
    """Empty a directory that is watched, but for what is needed for that."""
    for entry in directory.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name not in {_KEEPER, _LOCK, _LOG}:
            entry.unlink()


@contextmanager
def _signals_to_end() -> Iterator[None]:
    """Have signals raise Stopped, the first time; one that is ignored, as by nohup, stays so."""
    received: list[int] = []

    def stop(signum: int, _frame: FrameType | None) -> None:
        received.append(signum)
        if len(received) == 1:
            raise Stopped(signum)

    before = {
        signum: signal.signal(signum, stop)
        for signum in _SIGNALS
        if signal.getsignal(signum) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def _watchdog(directory: Path, lock: int, grace_s: float) -> Iterator[None]:
    """A process that ends all when we end; the directory is taken until it has."""
    with (directory / _LOG).open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - a list of our own making
            [
                sys.executable,
                "-m",
                "buildbot_bench.demo.watching",
                str(directory),
                str(grace_s),
            ],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            start_new_session=True,
        )
    try:
        yield
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


@contextmanager
def _alone(directory: Path) -> Iterator[int]:
    """Take a directory; gives the lock that a watchdog is to hold as well."""
    keeper = try_lock(directory / _KEEPER)
    if keeper is None:
        pid = (directory / _KEEPER).read_text()
        raise UsageError(
            f"a farm runs in {directory} already, as process {pid}",
            hint=f"stop that first: kill {pid}",
        )
    try:
        os.ftruncate(keeper, 0)
        os.write(keeper, str(os.getpid()).encode())
        lock = _taken_from_the_last_watchdog(directory)
        try:
            yield lock
        finally:
            os.close(lock)
    finally:
        os.close(keeper)


def _taken_from_the_last_watchdog(directory: Path) -> int:
    deadline_s = time.monotonic() + _PATIENCE_S
    while (lock := try_lock(directory / _LOCK)) is None:
        if time.monotonic() > deadline_s:
            raise InfraError(
                f"the last farm in {directory} does not end", hint=f"read {directory / _LOG}"
            )
        time.sleep(_POLL_S)
    return lock


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def main(arguments: list[str]) -> int:
    """Wait for the end of standard input, then end all; the status says whether that went."""
    directory, grace_s = arguments
    sys.stdin.buffer.read()
    try:
        end_all(Path(directory), grace_s=float(grace_s))
    except BenchError as problem:
        print(f"watchdog: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
