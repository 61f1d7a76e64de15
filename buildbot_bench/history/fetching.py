"""The fetch of a bare mirror from a URL, with its progress in words."""

from __future__ import annotations

import fcntl
import os
import re
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from buildbot_bench.core.errors import InfraError, StoppedError
from buildbot_bench.history.git import run_git, started
from buildbot_bench.history.objects import harmless

REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/notes/*:refs/notes/*")

# What a fetch sets: no detached gc (it would outlive the lock), no pruned objects (a commit that
# was measured stays readable after a forced push), an end to a connection that stands still, all on
# the disk (by default a power cut leaves objects empty that no later fetch replaces), and no
# commit-graph: git 2.39 never ends one with a date beyond 64 bits and a grandchild of its commit.
_FETCH_CONFIG = (
    *("-c", "gc.autoDetach=false"),
    *("-c", "maintenance.autoDetach=false"),
    *("-c", "gc.pruneExpire=never"),
    *("-c", "core.fsync=all"),
    *("-c", "gc.writeCommitGraph=false"),
    *("-c", "http.lowSpeedLimit=1"),
    *("-c", "http.lowSpeedTime=120"),
)
# What `git init` does not bring to the disk; it makes them anew where they are missing.
_MADE_AT_FIRST = ("HEAD", "config")
_STALE_LOCKS = ("*.lock", "refs/**/*.lock", "objects/info/**/*.lock")
_LOCK_POLL_S = 0.1
_STOP_POLL_S = 0.5
# Of what git says besides its progress, so many of the last lines; a push of many refs lists each.
_LINES_KEPT = 20
# A line of git's table of refs: ` * [new branch]  main -> main`, ` + 1a2b...3c4d main -> main`.
_REF_LINE = re.compile(r"^ [ *+\-=t] |^From ")
_SECRET = re.compile(r"//[^/@\s]+@")


def fetch(
    mirror: Path,
    url: str,
    *,
    timeout_s: float,
    work: str,
    on_progress: Callable[[Progress], None],
    stop: threading.Event,
) -> None:
    """Bring a bare mirror up to date with all heads, tags and notes of a URL; made where needed.

    One that was killed amid it leaves some refs new and some old, and perhaps locks, a power cut
    empty files: the next fetch completes the ones and removes the others. `on_progress` gets how
    far it is with what `work` calls it. `stop`, when it is set, ends git.
    """
    mirror.mkdir(parents=True, exist_ok=True)
    with _sole_fetch(mirror, timeout_s, stop) as lock:
        for pattern in _STALE_LOCKS:
            for stale in mirror.glob(pattern):
                stale.unlink()
        for name in _MADE_AT_FIRST:
            if (mirror / name).exists() and not (mirror / name).stat().st_size:
                (mirror / name).unlink()
        run_git(mirror, "init", "--quiet", "--bare", timeout_s=timeout_s)  # or repairs it
        command = (
            *_FETCH_CONFIG,
            *("fetch", "--progress", "--prune", "--no-tags", "--no-write-fetch-head"),
            # Else a shallow clone's branches are passed over, and nothing says so.
            "--update-shallow",
            *("--", url, *REFSPECS),
        )
        said = deque[str](maxlen=_LINES_KEPT)
        with started(mirror, command, stdout=subprocess.DEVNULL, inherit=(lock,)) as process:
            stream = cast("IO[bytes]", process.stderr).fileno()
            for line in _lines(stream, timeout_s, stop):
                if progress := parse_progress(line, work):
                    on_progress(progress)
                elif not _REF_LINE.match(line):
                    said.append(line)
        if process.returncode:
            raise InfraError(f"git fetch: {_reason(said) or f'exit {process.returncode}'}")


def _lines(stream: int, timeout_s: float, stop: threading.Event) -> Iterator[str]:
    """What git says, line by line; progress ends its lines with a carriage return."""
    rest = b""
    while True:
        _wait_for(stream, timeout_s, stop)
        chunk = os.read(stream, 1 << 16)
        *lines, rest = re.split(rb"[\r\n]", rest + chunk)
        yield from (line.decode(errors="replace") for line in lines if line.strip())
        if not chunk:
            if rest.strip():
                yield rest.decode(errors="replace")
            return
        rest = rest[-(1 << 16) :]


def _wait_for(stream: int, timeout_s: float, stop: threading.Event) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not select.select([stream], [], [], _STOP_POLL_S)[0]:
        if stop.is_set():
            raise StoppedError("the fetch was stopped")
        if time.monotonic() > deadline_s:
            raise InfraError(f"git fetch took more than {timeout_s:g} s and came no further")


def _reason(said: deque[str]) -> str:
    """Why git failed, as it said it: without controls and without the secrets of a URL."""
    return " ".join(_SECRET.sub("//", harmless(line.encode())) for line in said)


@contextmanager
def _sole_fetch(mirror: Path, timeout_s: float, stop: threading.Event) -> Iterator[int]:
    """Hold the mirror's lock.

    git inherits it: should we be killed, then our git, which lives on, holds it until it ends, so
    that nobody takes the locks of a living git for stale ones.
    """
    deadline = time.monotonic() + timeout_s
    with (mirror / "bench-fetch").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if stop.is_set():
                    raise StoppedError("the fetch was stopped") from None
                if time.monotonic() > deadline:
                    raise InfraError(
                        f"another fetch holds {mirror} for more than {timeout_s:g} s"
                    ) from None
                time.sleep(_LOCK_POLL_S)
        yield file.fileno()


# `Receiving objects:  43% (129/300), 312.00 MiB | 5.20 MiB/s`; a remote's have `remote: ` before.
_LINE = re.compile(
    r"(?:remote: )?(?P<stage>[A-Z][a-z]+ [a-z]+): +"
    r"(?:(?P<percent>\d{1,3})% \(\d+/\d+\)|(?P<count>\d{1,12}))"
    r"(?:, (?P<amount>\d{1,12}(?:\.\d\d)? (?:bytes|[KMGT]iB)))?",
    re.ASCII,
)
_STAGES = {
    "Enumerating objects": "counted",
    "Counting objects": "counted",
    "Compressing objects": "packed",
    "Receiving objects": "received",
    "Unpacking objects": "received",
    "Resolving deltas": "unpacked",
    "Checking connectivity": "checked",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One look at work that goes on: `stage` is what was done to `percent` or `count` of it.

    `amount` is what came over the wire, with its unit, as git writes it.
    """

    work: str
    stage: str
    percent: int | None = None
    count: int | None = None
    amount: str = ""

    def __str__(self) -> str:
        how_far = f"{self.percent} %" if self.count is None else f"{self.count}"
        text = f"{self.work}: {how_far} {self.stage}"
        return f"{text}; {self.amount}" if self.amount else text


def parse_progress(line: str, work: str) -> Progress | None:
    """What a line of `git fetch --progress` says of some work; None when it says something else."""
    match = _LINE.match(line)
    stage = _STAGES.get(match["stage"]) if match else None
    if match is None or stage is None:
        return None
    percent, count = match["percent"], match["count"]
    # `312 MiB` of `312.00 MiB`; of a gibibyte the hundredths are worth a look
    return Progress(
        work=work,
        stage=stage if count is None else f"objects {stage}",
        percent=None if percent is None else min(int(percent), 100),
        count=None if count is None else int(count),
        amount=re.sub(r"\.\d\d(?= [KM])", "", match["amount"] or ""),
    )
