"""A job of the lab and its files: start, attach, follow, cancel.

jobs/ID/request.json   what was asked for
jobs/ID/artefact       the kernel, a copy of our own; gone when the job is over
jobs/ID/events.jsonl   what came of it
jobs/ID/runner.json    the runner's process number and when it started
jobs/ID/start.lock     held by the process that starts or cancels
jobs/ID/runner.lock    held by the runner as long as it lives
"""

import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.json_model import from_json, to_json
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.wire import (
    Event,
    Failed,
    Finished,
    Measured,
    Profiled,
    format_event,
    parse_event,
)
from buildbot_bench.lab.driver import Request, failed
from buildbot_bench.lab.files import copy_verified, is_locked, locked, replace_text, take_lock

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FOLLOW_S = 0.03  # between two looks at the events
_KEPT_S = 14 * 86400  # two weeks
_MOST_FRUITLESS = 3  # runners in a row that add no event
_TERM_S = 5.0  # that a runner has to end in order


class Job:
    """One job's directory under the lab's state.

    A runner that is ordered to end has `term_s` for that before it is killed.
    """

    def __init__(self, state: Path, name: str, *, term_s: float = _TERM_S) -> None:
        if not _ID.fullmatch(name):
            raise UsageError(
                f"{quoted(name, columns=100)} is not a job's name",
                hint="use letters, digits, '.', '_' and '-', at most 100 of them",
            )
        self.name = name
        self._term_s = term_s
        self.directory = state / "jobs" / name
        self.artefact = self.directory / "artefact"
        self.events = EventLog(self.directory / "events.jsonl")
        self._start_lock = self.directory / "start.lock"
        self._runner_lock = self.directory / "runner.lock"
        self._runner_note = self.directory / "runner.json"

    @property
    def exists(self) -> bool:
        """Whether anybody ever asked for it."""
        return self.directory.is_dir()

    def is_over(self) -> bool:
        """Whether the last event is there."""
        events = self.events.read()
        return bool(events) and ended(events[-1])

    def is_running(self) -> bool:
        """Whether a runner lives."""
        return is_locked(self._runner_lock)

    def start_or_attach(self, request: Request, artefact: Path, run: Callable[[], None]) -> bool:
        """See that a runner is at work unless the job is over; returns whether one was started.

        `run` is what the runner does, in its own process. UsageError when the job was asked for
        something else before.
        """
        with locked(self._start_lock):
            self._keep_request(request)
            if self.is_over() or self.is_running():
                return False
            lock = take_lock(self._runner_lock)
            try:
                if not self.artefact.exists():
                    copy_verified(artefact, self.artefact, request.digest)
                self.events.mend()
                self._runner_note.unlink(missing_ok=True)
                detach(self._noted(run), keep=lock, log=self.directory / "runner.log")
            finally:
                os.close(lock)  # the runner inherited it
        return True

    def follow(self) -> Iterator[Event]:
        """All events from the first, as they come; ends with the last one, or with the runner."""
        offset = 0
        while True:
            alive = self.is_running()  # asked before reading: what a dying runner wrote is read
            for line in self.events.lines_after(offset):
                offset += len(line)
                event = parse_event(line)
                yield event
                if ended(event):
                    return
            if not alive:
                return
            time.sleep(_FOLLOW_S)

    def cancel(self) -> bool:
        """End the runner and all it started; returns whether there was anything to end."""
        if not self.exists:
            raise UsageError(
                f"there is no job {quoted(self.name)} here", hint="see `bench-lab list`"
            )
        with locked(self._start_lock):
            if self.is_over():
                return False
            self._stop_runner()
            if self.is_over():
                return False
            self.events.mend()
            self.events.append(failed(InfraError("the job was cancelled")))
        return True

    def end_runner(self) -> None:
        """End the runner and all it started; the next asker takes it up where it was."""
        if not self.is_running():
            return
        with locked(self._start_lock):
            self._stop_runner()

    def _keep_request(self, request: Request) -> None:
        path = self.directory / "request.json"
        asked = to_json(request)
        if not path.exists():
            replace_text(path, json.dumps(asked))
            return
        # A job that an earlier release began knows no tunables, captures and samples, and had none.
        before = to_json(from_json(Request, json.loads(path.read_text(encoding="utf-8"))))
        if changed := ", ".join(key for key in asked if asked[key] != before[key]):
            raise UsageError(
                f"job {self.name} was asked for before with another {changed}",
                hint="another measurement is another job: give it a name of its own",
            )

    def _noted(self, run: Callable[[], None]) -> Callable[[], None]:
        """Let the runner write down who it is before anything else."""

        def noted() -> None:
            note = {"pid": os.getpid(), "started_at_s": time.time()}
            replace_text(self._runner_note, json.dumps(note))
            run()

        return noted

    def _stop_runner(self) -> None:
        """The runner's number is also that of its process group, in which its children are."""
        if not self.is_running():
            return
        wait_while(lambda: self.is_running() and not self._runner_note.exists(), _TERM_S)
        pid = int(json.loads(self._runner_note.read_text(encoding="utf-8"))["pid"])
        send_signal(os.kill, pid, signal.SIGTERM)
        wait_while(self.is_running, self._term_s)
        send_signal(os.killpg, pid, signal.SIGKILL)


def follow_to_the_end(
    job: Job, request: Request, artefact: Path, run: Callable[[], None]
) -> Iterator[Event]:
    """Start or attach, and yield all events from the first; a runner that dies is replaced."""
    seen = fruitless = 0
    while fruitless < _MOST_FRUITLESS:
        fruitless += 1
        job.start_or_attach(request, artefact, run)
        for number, event in enumerate(job.follow()):
            if number < seen:
                continue
            seen += 1
            yield event
            if ended(event):
                return
            if isinstance(event, Measured):
                fruitless = 0
    raise InfraError(
        f"the runner of job {job.name} dies before it measures anything",
        hint=f"read {job.directory / 'runner.log'}",
    )


def wait_while(condition: Callable[[], bool], limit_s: float) -> None:
    """Wait until a condition holds no more, or for so long."""
    deadline_s = time.monotonic() + limit_s
    while condition() and time.monotonic() < deadline_s:
        time.sleep(_FOLLOW_S)


def send_signal(send: Callable[[int, int], None], number: int, signal_number: int) -> None:
    """Signal a process, or a group of them, unless it is gone already."""
    with suppress(ProcessLookupError, PermissionError):
        send(number, signal_number)


def prune(state: Path) -> None:
    """Forget the jobs that nothing was written to for two weeks."""
    oldest_s = time.time() - _KEPT_S
    for directory in (state / "jobs").glob("*"):
        if _ID.fullmatch(directory.name) is None or not directory.is_dir():
            continue
        if _changed_s(directory) < oldest_s and not Job(state, directory.name).is_running():
            shutil.rmtree(directory, ignore_errors=True)


def _changed_s(directory: Path) -> float:
    """When a job was last written to; now, if somebody else is just removing it."""
    try:
        return max((file.stat().st_mtime for file in directory.iterdir()), default=0.0)
    except FileNotFoundError:
        return time.time()


def detach(work: Callable[[], None], *, keep: int, log: Path) -> None:
    """Do `work` in a process that leads a session's process group and has no parent but init.

    `keep` is a descriptor that the process inherits, all others are closed: a pipe that somebody
    reads to its end must not be held open by us. What the process writes goes to `log`.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)  # the process is an orphan now: init reaps it, not our caller
        _become_daemon(work, keep, log)
    os.waitpid(child, 0)


def _become_daemon(work: Callable[[], None], keep: int, log: Path) -> NoReturn:
    status = 1
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDONLY)
        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(null, 0)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.closerange(3, keep)
        os.closerange(max(3, keep + 1), os.sysconf("SC_OPEN_MAX"))
        work()
        status = 0
    except Exception:  # noqa: BLE001 - nobody is above us to hear of it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class EventLog:
    """The events of one job, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, event: Event) -> None:
        """Add one event; what a measurement cost time to get is on the disk when this returns."""
        line = (format_event(event) + "\n").encode("ascii")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while line:
                line = line[os.write(descriptor, line) :]
            if isinstance(event, Measured | Profiled | Failed | Finished):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def mend(self) -> None:
        """Cut off a last line that a crash left half written; only the one writer may call this."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)

    def read(self) -> list[Event]:
        """All events that are wholly there."""
        return [parse_event(line) for line in self.lines_after(0)]

    def lines_after(self, offset: int) -> Iterator[str]:
        """The whole lines behind an offset, which is in bytes; ends at a line not yet finished."""
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    yield line.decode("ascii", errors="replace")
        except FileNotFoundError:
            return


def ended(event: Event) -> bool:
    """Whether this is a job's last event."""
    return isinstance(event, Failed | Finished)
