"""Subversion numbers, read from a tree of git notes."""

from __future__ import annotations

import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from buildbot_bench.history.git import run_git, streaming_git
from buildbot_bench.history.table import OID_SIZE

# The text of a note of FreeBSD's: `svn path=/head/; revision=311849`.
_NUMBER = re.compile(rb"\brevision=(\d{1,9})\b")
# What a converter writes is a line; a number that stands further back is not looked for.
_READ = 64 * 1024
_COMMIT = re.compile(rb"[0-9a-f]{40}")
_TIMEOUT_S = 3600.0
_PROGRESS_EACH = 5000
_NO_BLOB = b"0" * 40


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberedCommits:
    """Commits and the numbers of their notes, side by side; hashes have 20 bytes each."""

    oids: bytearray = field(default_factory=bytearray)
    numbers: array[int] = field(default_factory=lambda: array("I"))

    def pairs(self) -> Iterator[tuple[str, int]]:
        """Each commit and its number."""
        for i, number in enumerate(self.numbers):
            yield self.oids[i * OID_SIZE : (i + 1) * OID_SIZE].hex(), number


def all_notes(mirror: Path, tree: str, on_progress: Callable[[int, int], None]) -> NumberedCommits:
    """The commits that have a note with a number, in one state of the notes.

    `on_progress` gets how many notes of how many were read, now and then. Raises InfraError.
    """
    asked = ("-r", "-z", "--full-tree", "--end-of-options", tree)
    with streaming_git(mirror, "ls-tree", *asked, timeout_s=_TIMEOUT_S) as output:
        return _read(mirror, _listed(output), on_progress)


def changed_notes(mirror: Path, old: str, new: str) -> tuple[frozenset[str], NumberedCommits]:
    """The commits whose notes differ between two states, and the numbers of those that have one.

    Raises InfraError, also when the mirror no longer has the old state.
    """
    asked = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--end-of-options", old, new)
    fields = iter(run_git(mirror, "diff-tree", *asked, timeout_s=_TIMEOUT_S).split(b"\0"))
    changes = [(raw.split()[3], next(fields)) for raw in fields if raw.startswith(b":")]
    shas = {name.decode() for _, path in changes if (name := _commit(path))}
    # A note that moved into a directory is gone under one name and there under another.
    return frozenset(shas), _read(
        mirror,
        ((blob, name) for blob, path in changes if blob != _NO_BLOB and (name := _commit(path))),
        lambda *_: None,
    )


def _listed(output: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Read (MODE " blob " HASH TAB PATH NUL)*: the hashes and the commits that the paths name."""
    rest = b""
    while chunk := output.read(1 << 16):
        *entries, rest = (rest + chunk).split(b"\0")
        for entry in entries:
            facts, _, path = entry.partition(b"\t")
            kind, blob = facts.split()[1:3]
            if kind == b"blob" and (name := _commit(path)):
                yield blob, name


def _commit(path: bytes) -> bytes | None:
    """Git spreads notes over directories as they become many: ab/cdef… or ab/cd/ef…."""
    name = path.replace(b"/", b"")
    return name if _COMMIT.fullmatch(name) else None


def _read(
    mirror: Path, notes: Iterable[tuple[bytes, bytes]], on_progress: Callable[[int, int], None]
) -> NumberedCommits:
    found, named = NumberedCommits(), bytearray()
    with tempfile.TemporaryFile() as wanted:
        for blob, name in notes:
            wanted.write(blob + b"\n")
            named += bytes.fromhex(name.decode())
        wanted.seek(0)
        total = len(named) // OID_SIZE
        with streaming_git(
            mirror, "cat-file", "--batch", "--buffer", stdin=wanted, timeout_s=_TIMEOUT_S
        ) as output:
            for i in range(total):
                if match := _NUMBER.search(_next_text(output)):
                    found.oids.extend(named[i * OID_SIZE : (i + 1) * OID_SIZE])
                    found.numbers.append(int(match[1]))
                if i % _PROGRESS_EACH == 0:
                    on_progress(i, total)
    return found


def _next_text(output: IO[bytes]) -> bytes:
    """Read HASH " " TYPE " " SIZE LF CONTENT LF: the content's beginning; the rest is skipped."""
    header = output.readline().split()
    if len(header) != 3:  # "HASH missing"
        return b""
    left = int(header[2]) + 1
    text = output.read(min(left, _READ))
    left -= len(text)
    while left > 0 and (skipped := output.read(min(left, _READ))):
        left -= len(skipped)
    return text
