"""Subversion numbers by git notes, and the table of commits that have them."""

from __future__ import annotations

import re
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import IO

from buildbot_bench.core.errors import InfraError
from buildbot_bench.history.chain import OID_SIZE, OidTable, read_columns, write_columns
from buildbot_bench.history.git import run_git, streaming_git

NOTES = "refs/notes/commits"
# Changes of notes are kept beside the table until there are so many.
KEPT_IN_MEMORY = 1000
_KIND = b"svn "


@dataclass(frozen=True, kw_only=True, slots=True)
class SvnNumbers:
    """The numbers of all commits that have one, for one state of the notes.

    The table is large, may lie in a file and never changes: `numbers` are those of its hashes,
    `by_number` its places in their order. `changed` is what differs from it by now.
    """

    tree: str | None = None
    table: OidTable = field(default_factory=lambda: OidTable.of(b""))
    numbers: Sequence[int] = ()
    by_number: Sequence[int] = ()
    changed: Mapping[str, int | None] = field(default_factory=dict)

    def of(self, sha: str) -> int | None:
        """A commit's number, if its note has one."""
        if sha in self.changed:
            return self.changed[sha]
        place = self.table.find(bytes.fromhex(sha))
        return None if place is None else self.numbers[place]

    def commits(self, number: int) -> Iterator[str]:
        """The commits that have a number: one, unless somebody's notes are odd."""
        yield from (sha for sha, theirs in self.changed.items() if theirs == number)
        for place in self.by_number[self._rank(number) :]:
            if self.numbers[place] != number:
                return
            if (sha := self.table[place].hex()) not in self.changed:
                yield sha

    def doubled(self) -> list[int]:
        """The numbers that several commits have, the smallest first."""
        in_order = pairwise(self.numbers[place] for place in self.by_number)
        candidates = {one for one, next_one in in_order if one == next_one}
        candidates |= {number for number in self.changed.values() if number is not None}
        return sorted(n for n in candidates if len(list(islice(self.commits(n), 2))) > 1)

    def nearest(self, number: int, counts: Callable[[str], bool]) -> tuple[int, ...]:
        """The numbers on either side of one that no commit has, of commits that count."""
        rank = self._rank(number)
        below = next(self._counting(range(rank - 1, -1, -1), counts), None)
        above = next(self._counting(range(rank, len(self.by_number)), counts), None)
        others = [theirs for sha, theirs in self.changed.items() if theirs and counts(sha)]
        lower = [n for n in (below, *others) if n and n < number]
        higher = [n for n in (above, *others) if n and n > number]
        return (*([max(lower)] if lower else []), *([min(higher)] if higher else []))

    def moved_to(
        self, mirror: Path, tree: str | None, on_progress: Callable[[int, int], None]
    ) -> SvnNumbers:
        """The numbers of other notes; what did not change is not read again. Raises InfraError."""
        if tree == self.tree:
            return self
        if tree is None:
            return SvnNumbers()
        if self.tree is not None:
            with suppress(InfraError):  # the old notes are gone: all are read anew
                touched, found = changed_notes(mirror, self.tree, tree)
                changed = {**self.changed, **dict.fromkeys(touched), **dict(found.pairs())}
                if len(changed) < KEPT_IN_MEMORY:
                    return SvnNumbers(
                        tree=tree,
                        table=self.table,
                        numbers=self.numbers,
                        by_number=self.by_number,
                        changed=changed,
                    )
        found = all_notes(mirror, tree, on_progress)
        by_number = sorted(range(len(found.numbers)), key=found.numbers.__getitem__)
        return SvnNumbers(
            tree=tree,
            table=OidTable.of(bytes(found.oids)),
            numbers=found.numbers,
            by_number=array("I", by_number),
        )

    def _rank(self, number: int) -> int:
        return bisect_left(self.by_number, number, key=self.numbers.__getitem__)

    def _counting(self, ranks: range, counts: Callable[[str], bool]) -> Iterator[int]:
        for rank in ranks:
            place = self.by_number[rank]
            sha = self.table[place].hex()
            if sha not in self.changed and counts(sha):
                yield self.numbers[place]


def stored_numbers(path: Path) -> SvnNumbers:
    """The numbers that a file holds; none when there is no file that can be trusted."""
    match read_columns(path, _KIND):
        case (key, (oids, order, numbers, by_number)) if len(order) == len(numbers):
            return SvnNumbers(
                tree=key.hex(),
                table=OidTable.stored(oids, order),
                numbers=numbers.cast("I"),
                by_number=by_number.cast("I"),
            )
    return SvnNumbers()


def store_numbers(numbers: SvnNumbers, path: Path) -> SvnNumbers:
    """The same numbers, in a file when they are many.

    A disk that does not take it costs the next start some time, and nothing else.
    """
    if numbers.tree is None or numbers.changed or len(numbers.table) < KEPT_IN_MEMORY:
        return numbers
    columns = (
        *numbers.table.columns(),
        array("I", numbers.numbers).tobytes(),
        array("I", numbers.by_number).tobytes(),
    )
    with suppress(OSError):
        write_columns(path, _KIND, bytes.fromhex(numbers.tree), columns)
        stored = stored_numbers(path)
        if stored.tree == numbers.tree:
            return stored  # which takes no memory
    return numbers


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
