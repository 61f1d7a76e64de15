"""The files beside a master that keep what its threads did when it hung or crashed."""

from __future__ import annotations

import re
import time
from calendar import timegm
from contextlib import suppress
from pathlib import Path

from buildbot_bench.core.condition import Hang
from buildbot_bench.core.legible import one_line

DIRECTORY = "hangs"
MOST_KEPT = 20
_MOST_CHARACTERS = 64 * 1024
_FORM = "%Y%m%dT%H%M%SZ.txt"
_FATAL = re.compile(r"Fatal Python error: (.*)")
_ABORTED = "was aborted: it did not answer, or a library failed"


def stacks_file(master: Path) -> Path:
    """Return the file for the stacks of the master that runs; it is empty while all is well."""
    return master / DIRECTORY / "current"


def has_hung(master: Path) -> bool:
    """Return whether the last master left the stacks of its threads, and none started since."""
    file = stacks_file(master)
    return file.is_file() and file.stat().st_size > 0


def keep_hang(master: Path) -> Hang | None:
    """Give the last master's stacks a file of their own. None if that master ended in order."""
    (master / DIRECTORY).mkdir(mode=0o700, exist_ok=True)
    if not has_hung(master):
        return None
    file = stacks_file(master)
    kept = file.rename(file.with_name(time.strftime(_FORM, time.gmtime(file.stat().st_mtime))))
    for old in _kept(master)[:-MOST_KEPT]:
        old.unlink()
    return _hang(kept)


def hangs(master: Path) -> tuple[Hang, ...]:
    """Return the hangs and crashes of a master that are kept, the oldest first."""
    found: list[Hang] = []
    for path in _kept(master):
        with suppress(OSError, ValueError):  # deleted meanwhile, or not of our making
            found.append(_hang(path))
    return tuple(found)


def stacks_of(hang: Hang) -> str:
    """Return what the threads did, cut to a length that a log takes."""
    with Path(hang.path).open(encoding="utf-8", errors="replace") as text:
        return text.read(_MOST_CHARACTERS)


def _kept(master: Path) -> list[Path]:
    return sorted((master / DIRECTORY).glob("*.txt"))


def _hang(path: Path) -> Hang:
    at_s = float(timegm(time.strptime(path.name, _FORM)))
    with path.open(encoding="utf-8", errors="replace") as text:
        first = text.readline(_MOST_CHARACTERS)
    what = one_line(first, columns=80)
    if fatal := _FATAL.match(what):
        what = _ABORTED if fatal[1] == "Aborted" else f"crashed: {fatal[1]}"
    return Hang(at_s=at_s, what=what, path=str(path))
