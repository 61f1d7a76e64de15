"""The selection, order and names of branches."""

import re
from collections.abc import Iterable, Sequence

from buildbot_bench.core.triggers import compile_pattern

MOST_BRANCHES = 64
"""So many are watched at most: each costs a look at its history with every fetch."""

PLAIN_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}", re.ASCII)
"""Branches with other names are passed over: whoever may push names them as they like."""

_DIGITS = re.compile(r"(\d+)")


def is_literal(pattern: str) -> bool:
    """Whether a pattern is the name of one branch."""
    return PLAIN_BRANCH.fullmatch(pattern) is not None


def selected_branches(patterns: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    """The branches that patterns take, in the patterns' order; of one pattern stable/9 before 10.

    Patterns are read in order, and one with `!` in front takes back what those before it took.
    """
    found = {name: place for name in names if (place := _place(patterns, name)) is not None}
    return tuple(sorted(found, key=lambda name: (found[name], natural_order(name))))


def natural_order(name: str) -> tuple[tuple[str, int], ...]:
    """A key by which numbers within names are ordered as numbers."""
    parts = _DIGITS.split(name)
    numbers = [int(number) for number in parts[1::2]]
    return tuple(zip(parts[::2], [*numbers, -1], strict=True))


def _place(patterns: Sequence[str], name: str) -> int | None:
    """The number of the pattern that takes a branch; None when none does."""
    if not PLAIN_BRANCH.fullmatch(name):
        return None
    place = None
    for number, pattern in enumerate(patterns):
        if pattern.startswith("!"):
            if compile_pattern(pattern[1:]).fullmatch(name):
                place = None
        elif place is None and compile_pattern(pattern).fullmatch(name):
            place = number
    return place


def repository_of(branch: str) -> str:
    """The repository of a branch: `ports` of `ports:main`; empty, of the first one's `main`."""
    return branch.rpartition(":")[0]


def name_in_repository(branch: str) -> str:
    """What a branch is called in its own repository: `main`, of `ports:main` too."""
    return branch.rpartition(":")[2]


def branch_in(repository: str, name: str) -> str:
    """The branch of that name in a repository, as a farm calls it; `repository` as above."""
    return f"{repository}:{name}" if repository else name


_OF_REPOSITORY = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,49}):(.*)", re.ASCII | re.DOTALL)


def repository_named(written: str) -> tuple[str, str]:
    """The repository that stands before a revision, may be empty, and the revision: `ports:n12`."""
    match = _OF_REPOSITORY.fullmatch(written)
    return (match[1], match[2]) if match else ("", written)
