"""The table of commits and their Subversion numbers."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.history.index_file import read_columns, write_columns
from buildbot_bench.history.notes import all_notes, changed_notes
from buildbot_bench.history.table import OidTable

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
