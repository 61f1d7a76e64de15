"""The process that runs commands one by one and ends all that descends from them."""

import base64
import ctypes
import json
import os
import resource
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
_LOOK_S = 1.0  # between two looks at the clock and the disk
_END_S = 20.0  # that killed processes have to be gone
_PIECE = 1 << 16
_TO_END = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_SHARE = 0.5  # of what the disk lost: more than that in our files, and it is the command's


class KeptEnds:
    """The head and the tail of a stream, `most` bytes together."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head, self._tail = bytearray(), bytearray()
        self.size = 0

    def take(self, piece: bytes) -> None:
        """Keep what belongs to head or tail."""
        self.size += len(piece)
        room = self._half - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def told(self) -> dict[str, Any]:
        """Both in base64, and the number of all bytes."""
        tail = self._tail[-self._half :]
        parts = [base64.b64encode(part).decode("ascii") for part in (self._head, tail)]
        return {"head": parts[0], "tail": parts[1], "size": self.size}


class Wishes:
    """What comes from outside: lines on stdin that say what to run, and signals.

    `wake` is a descriptor that can be read when a child ended or a signal asks us to end.
    """

    def __init__(self, source: int) -> None:
        self.source = source
        # A descriptor from which the numbers of signals can be read: a child ended, we are to end
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        for number in (signal.SIGCHLD, *_TO_END):
            signal.signal(number, lambda _signal, _frame: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self.wake = reader
        self._said = bytearray()

    def next(self) -> bytes | None:
        """Wait for the next line; None when stdin ends or a signal asks us to end."""
        while (length := self._said.find(b"\n") + 1) == 0:
            ready, _, _ = select.select([self.source, self.wake], [], [])
            if self.end_at(*ready):
                return None
        line = bytes(self._said[:length])
        del self._said[:length]
        return line

    def end_at(self, *ready: int) -> bool:
        """Read what is ready; return whether stdin has ended or a signal asks us to end."""
        is_end = False
        for descriptor in ready:
            piece = os.read(descriptor, _PIECE)
            if descriptor == self.source:
                self._said += piece
                is_end = is_end or not piece
            else:
                is_end = is_end or bool(_TO_END.intersection(piece))
        return is_end


class Supervisor:
    """One command from its start until nothing of it is left."""

    def __init__(self, spec: Mapping[str, Any], wishes: Wishes) -> None:
        self._spec = spec
        self._wishes = wishes
        self._streams = {"stdout": KeptEnds(spec["keep"]), "stderr": KeptEnds(spec["keep"])}
        self._ended: tuple[int, resource.struct_rusage, float] | None = None
        self._stopped = ""
        self._free = _free(spec["cwd"])
        self._began_at = time.time()

    def run(self) -> dict[str, Any]:
        """Run the command to its end, or to that of its time, its disk or our stdin."""
        try:
            process = self._start()
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            return {"errno": getattr(error, "errno", None) or 0, "error": str(error)}
        began_s = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._wishes.source, selectors.EVENT_READ)
            selector.register(self._wishes.wake, selectors.EVENT_READ)
            for name, kept in self._streams.items():
                selector.register(getattr(process, name), selectors.EVENT_READ, kept)
            while self._ended is None and not self._stopped:
                self._look(selector, process.pid, began_s)
            left = sum(1 for _ in _descendants()) if self._ended and self._reap(process.pid) else 0
            survivors = self._end_all(process.pid)
            self._drain(selector)
        for name in self._streams:
            getattr(process, name).close()
        self._check_disk()
        process.returncode = 0  # it was waited for
        return self._told(began_s, left, survivors)

    def _start(self) -> subprocess.Popen[bytes]:
        spec = self._spec
        return subprocess.Popen(  # noqa: S603 - a list, no shell but one that is asked for
            spec["words"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=spec["cwd"],
            env=spec["env"],
            start_new_session=True,
            preexec_fn=_confinement(spec),  # noqa: PLW1509 - we have one thread
            bufsize=0,
        )

    def _look(self, selector: selectors.BaseSelector, pid: int, began_s: float) -> None:
        left_s = began_s + self._spec["timeout_s"] - time.monotonic()
        events = selector.select(max(0.0, min(_LOOK_S, left_s)))
        for key, _ in events:
            if isinstance(key.data, KeptEnds):
                _read(selector, key)
            elif self._wishes.end_at(key.fd):
                self._stopped = "asked"
        self._reap(pid)
        if self._ended is None and time.monotonic() >= began_s + self._spec["timeout_s"]:
            self._stopped = self._stopped or "timeout"
        if not events:
            self._check_disk()

    def _reap(self, pid: int) -> bool:
        """Wait for all that is dead; returns whether there is any child left."""
        while True:
            try:
                found, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if found == 0:
                return True
            if found == pid:
                self._ended = (status, usage, time.monotonic())

    def _end_all(self, pid: int) -> int:
        """Kill all that descends from us; the number of those that cannot be killed.

        Orphans become our children on Linux: where we have no child, nothing descends from us.
        """
        if sys.platform == "linux" and not self._reap(pid):
            return 0
        end_s = time.monotonic() + _END_S
        while time.monotonic() < end_s:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            for other in _descendants():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(other, signal.SIGKILL)
            if not self._reap(pid):
                return 0
            time.sleep(0.002)
        return sum(1 for _ in _descendants())

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Read what is still in the pipes; who else holds one open is not waited for."""
        while any(isinstance(key.data, KeptEnds) for key in selector.get_map().values()):
            ready = [key for key, _ in selector.select(0) if isinstance(key.data, KeptEnds)]
            if not ready:
                return
            for key in ready:
                _read(selector, key)

    def _check_disk(self) -> None:
        free = _free(self._spec["cwd"])
        lost = self._free - free
        if self._stopped or (lost <= self._spec["disk"] and free >= self._spec["reserve"]):
            return
        written = sum(_written(Path(place), self._began_at) for place in self._spec["places"])
        if written > _SHARE * lost:
            self._stopped = "disk"
        elif free < self._spec["reserve"]:
            self._stopped = "full"
        else:
            self._free = free  # others write here, and there is room for all

    def _told(self, began_s: float, left: int, survivors: int) -> dict[str, Any]:
        said = {name: kept.told() for name, kept in self._streams.items()}
        told = {**said, "stopped": self._stopped, "left": left, "survivors": survivors}
        if self._ended is None or self._stopped:
            return {**told, "status": None, "wall_s": time.monotonic() - began_s}
        status, usage, ended_s = self._ended
        times = {
            "wall_s": ended_s - began_s,
            "user_s": usage.ru_utime,
            "system_s": usage.ru_stime,
        }
        return {**told, "status": os.waitstatus_to_exitcode(status), **times}


def _confinement(spec: Mapping[str, Any]) -> Callable[[], None]:
    """What the command's process does before it becomes the command: limits outlive exec."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (spec["disk"], spec["disk"]))
        if spec["cpus"]:
            os.sched_setaffinity(0, spec["cpus"])
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if not spec["random_addresses"]:
                libc.personality(_ADDR_NO_RANDOMIZE)

    return confine


def _read(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    piece = os.read(key.fd, _PIECE)
    if piece:
        key.data.take(piece)
    else:
        selector.unregister(key.fileobj)


def _descendants() -> Iterator[int]:
    """The processes that descend from us and are not dead; none where there is no Linux's /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            state, parent = entry.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(entry.parent.name)] = int(parent)
    for pid in parents:
        above, steps = pid, 0
        while (above := parents.get(above, 0)) and steps < len(parents):
            steps += 1
            if above == os.getpid():
                yield pid
                break


def _free(place: str) -> int:
    try:
        found = os.statvfs(place)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def _written(place: Path, since: float) -> int:
    total = 0
    for directory, _, names in os.walk(place):
        for name in names:
            with suppress(OSError):
                found = os.lstat(Path(directory) / name)
                total += found.st_blocks * 512 if found.st_mtime >= since - 1 else 0
    return total


def main() -> None:
    """Run what each line says and say what came of it, until stdin or a signal ends us."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wishes = Wishes(sys.stdin.fileno())
    with suppress(BrokenPipeError), os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        while (line := wishes.next()) is not None:
            told = Supervisor(json.loads(line), wishes).run()
            output.write(json.dumps(told).encode() + b"\n")
            output.flush()  # who started us may be dead by now
            if told.get("stopped") == "asked" or told.get("survivors"):
                return


if __name__ == "__main__":
    main()
