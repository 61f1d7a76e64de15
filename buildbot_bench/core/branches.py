"""Which branches `on.push.branches` means, and in which order; it knows no repository.

Patterns are GitHub's, as in core.paths: `main`, `stable/*`, `releng/14.*`, `!stable/9`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from buildbot_bench.core.paths import compile_pattern

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
