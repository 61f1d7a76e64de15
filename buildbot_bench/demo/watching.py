"""The keeper of a farm's directory: one farm at a time, and no process left behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.demo.processes import STOP_GRACE_S, end_all, running
from buildbot_bench.lab.locks import try_lock

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
