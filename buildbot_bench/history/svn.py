"""Subversion's revision numbers, which git notes hold; it knows no branch but its chain."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

import pygit2

from buildbot_bench.history.chain import Chain

NOTES = "refs/notes/commits"

# The text of a note of FreeBSD's: `svn path=/head/; revision=311849`.
_NOTE = re.compile(rb"\brevision=(\d{1,9})\b")


def notes_of(repository: pygit2.Repository) -> pygit2.Tree | None:
    """The notes of a repository as they are now."""
    reference = repository.references.get(NOTES)
    return None if reference is None else reference.peel(pygit2.Tree)


def number_of(notes: pygit2.Tree | None, oid: pygit2.Oid) -> int | None:
    """A commit's number, if its note has one.

    Git spreads notes over directories as they become many: ab/cdef… or ab/cd/ef….
    """
    sha = str(oid)
    for path in (sha, f"{sha[:2]}/{sha[2:]}", f"{sha[:2]}/{sha[2:4]}/{sha[4:]}"):
        if notes is not None and path in notes:
            return _parse(notes[path])
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class SvnIndex:
    """The commits of a chain by their numbers, for one state of the notes."""

    notes_id: pygit2.Oid | None = None
    chain: Chain = field(default_factory=Chain)
    oids: dict[int, pygit2.Oid] = field(default_factory=dict)

    def moved_to(self, notes: pygit2.Tree | None, chain: Chain) -> SvnIndex:
        """The index of another chain or other notes; a chain that only grew is cheap."""
        if notes is None:
            return SvnIndex(chain=chain)
        known = len(self.chain.oids)
        if notes.id == self.notes_id and chain.oids[:known] == self.chain.oids:
            numbers = ((number_of(notes, oid), oid) for oid in chain.oids[known:])
            oids = self.oids | {number: oid for number, oid in numbers if number is not None}
        else:
            found = (pair for pair in _all_numbers(notes, "") if pair[1] in chain.positions)
            oids = dict(found)
        return SvnIndex(notes_id=notes.id, chain=chain, oids=oids)

    def nearest(self, number: int) -> tuple[int, ...]:
        """The numbers on either side of one that the chain does not have."""
        numbers = sorted(self.oids)
        place = bisect(numbers, number)
        return tuple(numbers[max(place - 1, 0) : place + 1])


def _all_numbers(tree: pygit2.Tree, prefix: str) -> Iterator[tuple[int, pygit2.Oid]]:
    for entry in tree:
        name = f"{prefix}{entry.name}"
        if isinstance(entry, pygit2.Tree):
            yield from _all_numbers(entry, name)
        elif (number := _parse(entry)) is not None and re.fullmatch("[0-9a-f]{40}", name):
            yield number, pygit2.Oid(hex=name)


def _parse(note: pygit2.Object) -> int | None:
    match = _NOTE.search(note.data) if isinstance(note, pygit2.Blob) else None
    return int(match[1]) if match else None
