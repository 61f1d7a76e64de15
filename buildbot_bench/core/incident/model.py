"""The data model of breakages over positions 0..n: trials, evidence, policy and answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What a kernel does not do any more: be built, or boot and pass traffic."""

    BUILD = "build"
    BOOT = "boot"


class TrialOutcome(StrEnum):
    """What trying a revision said of it.

    `works` and `broken` are the two values of the evidence. `hidden`: it cannot be tried, as what
    does not build cannot be booted. `lost`: the lab or the builder failed, which says nothing.
    """

    WORKS = "works"
    BROKEN = "broken"
    HIDDEN = "hidden"
    LOST = "lost"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One build, or one job of boots, of the revision at a position.

    `tries` is how many boots or builds in a row ended so. `certain`: it would end so each time, as
    a compiler's error does. `asked_at_s` is when it was asked for, in seconds.
    """

    position: int
    outcome: TrialOutcome
    reason: str = ""
    tries: int = 1
    certain: bool = False
    asked_at_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakageEvidence:
    """All that is known of a range: what was tried, what is built, what is the kernel before it."""

    trials: tuple[Trial, ...] = ()
    built: frozenset[int] = frozenset()
    same_as_previous: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakagePolicy:
    """How sure an answer must be, and what it may cost.

    Boots fail by accident, and never succeed by accident. So the first broken revision must fail
    `failures` times, and the last that works must work once since anything failed: else it is the
    lab, or the builder, that changed. `row` commits in a row call for a search. At most `hidden`
    revisions that cannot be tried are found out in what is left of the range; `losses` trials that
    say nothing are the end of trying a revision. `builders` is how many can build at a time.
    """

    row: int = 3
    failures: int = 2
    hidden: int = 12
    losses: int = 3
    builders: int = 1


class Ending(StrEnum):
    """What a search for a breakage came to.

    `unproven`: the old end does not work any more either.
    """

    BROKEN = "broken"
    MENDED = "mended"  # the new end works
    UNPROVEN = "unproven"


@dataclass(frozen=True, kw_only=True, slots=True)
class Breakage:
    """The branch broke in (old, new]; new == old + 1 unless what lies between is hidden.

    `reason` is what the trial of `new` said; `hidden` are the positions between that could not be
    tried. `before` is the newest position before `old` that was broken, too, None without any:
    then the branch was broken, fixed and broken again. `detail` says in a sentence how it ended.
    """

    ending: Ending
    old: int
    new: int
    reason: str = ""
    hidden: tuple[int, ...] = ()
    before: int | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenTip:
    """The newest commits of a branch fail: the newest that works, and the newest of all tried."""

    works: int
    broken: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Mended:
    """What was broken works again since a commit in (old, new]."""

    old: int
    new: int
