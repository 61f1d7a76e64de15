"""What incidents are made of: alarms that may share a cause, breakages, their trials and ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from buildbot_bench.core.metric import more_is_better


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


TIP_ROW = 3
"""Commits that fail in a row call for a search."""
FAILURES = 2
"""Of the first broken revision, which proves it. Boots fail by accident, and never succeed by
accident: so the last that works must work once since anything failed, else it is the lab, or the
builder, that changed."""
MOST_HIDDEN = 12
"""Revisions that cannot be tried and are found out in what is left of the range."""
MOST_LOSSES = 3
"""Trials that say nothing are the end of trying a revision."""


class Ending(StrEnum):
    """What a search for a breakage came to; `unproven`: the old end does not work either."""

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


FloatArray = NDArray[np.float64]

# Rates of failing, from a rate that one trial in a thousand shows to an even chance.
_GOOD = (0.001, 0.03, 0.1, 0.2, 0.35)
_BAD = (0.45, 0.6, 0.75, 0.9, 0.999)
# Prior probability that a breakage shows each time and good revisions never fail: most do.
_EACH_TIME = 0.5
# Prior probability that all of a range is broken, or nothing of it; and that one which broke is
# fixed within it. Chosen on other seeds than those that judge: with .02 a race costs half more.
_BEYOND = 0.01
_FIXED = 0.0002


def place_posterior(
    works: Sequence[int], fails: Sequence[int], commits: Sequence[int]
) -> FloatArray:
    """Return the probability of each place of the culprit, (m + 1,).

    Trials of m revisions, oldest first, ended so; `commits` counts those between a revision and
    the one before it that change the kernel, (m - 1,). Place j lies after j revisions: at 0 all are
    broken, at m none is. A range may have been broken and fixed before: the place is that of the
    newest breakage.
    """
    good, bad = (axis.ravel() for axis in np.meshgrid(_GOOD, _BAD))
    even = (1 - _EACH_TIME) / (len(good) - 1)
    each_time = (good == _GOOD[0]) & (bad == _BAD[-1])
    worked, failed = np.asarray(works, dtype=float), np.asarray(fails, dtype=float)
    before, since = (
        np.outer(np.log1p(-rate), worked) + np.outer(np.log(rate), failed) for rate in (good, bad)
    )
    places = _newest_breakage(before, since, np.asarray(commits, dtype=float))
    log_weight = places + np.log(np.where(each_time, _EACH_TIME, even))
    weight = np.exp(log_weight - log_weight.max()).sum(axis=1)
    posterior: FloatArray = weight / weight.sum()
    return posterior


def _newest_breakage(before: FloatArray, since: FloatArray, commits: FloatArray) -> FloatArray:
    """Return ln P(trials, place) under each pair of rates, (m + 1, rates).

    `before` and `since` are ln P(trials of a revision) where it is good and where it is broken. A
    forward pass over both states leads to each place; from there on all is broken.
    """
    rest = np.cumsum(since[:, ::-1], axis=1)[:, ::-1]
    good, broken = np.log(1 - _BEYOND) + before[:, 0], np.log(_BEYOND) + since[:, 0]
    place = [np.log(_BEYOND) + rest[:, 0]]
    for j, share in enumerate(commits / commits.sum(), start=1):
        place.append(good + np.log(share) + rest[:, j])
        stays = good + np.log1p(-min(share, 1 - _BEYOND))
        fixed, breaks = broken + np.log(_FIXED * share), good + np.log(share)
        keeps = broken + np.log1p(-_FIXED * share)
        good = np.logaddexp(stays, fixed) + before[:, j]
        broken = np.logaddexp(keeps, breaks) + since[:, j]
    return np.array([*place, good])


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmedSeries:
    """A workload on a testbed whose level changed by `effect` in (old, new], two positions.

    `configuration` names what its kernels are built from: branch and kernel configuration.
    `effect` is a fraction of the old level, in `unit`; `higher_is_better` is None where the unit
    alone says which way is better. `value` names one of many values of a run.
    """

    testbed: str
    workload: str
    unit: str
    configuration: str
    old: int
    new: int
    effect: float
    higher_is_better: bool | None = None
    value: str = ""

    @property
    def worse(self) -> bool:
        """Whether the series became worse."""
        return is_worse(self.effect, self.unit, self.higher_is_better)


def is_worse(effect: float, unit: str, higher_is_better: bool | None = None) -> bool:
    """Whether an effect makes a metric worse; of an unknown unit more is better."""
    return (effect < 0) is more_is_better(unit, higher_is_better)


def may_share_a_change(one: AlarmedSeries, other: AlarmedSeries) -> bool:
    """Whether one commit may be behind both alarms: their ranges share more than an old end."""
    same_kernels = one.configuration == other.configuration
    same_direction = one.worse is other.worse
    return same_kernels and same_direction and one.old < other.new and other.old < one.new


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelReturn:
    """The level that was measured later against the level before the regression.

    `difference` is a fraction of the level before, signed as the metric is; `back`: it is over.
    """

    difference: float
    back: bool


def returned_level(
    before: Sequence[float],
    now: Sequence[float],
    *,
    effect: float,
    min_effect: float,
    higher_is_better: bool = True,
) -> LevelReturn | None:
    """Hold the boots of a later improvement against those from before a regression.

    `before` and `now` are values in one unit and epoch; `effect` is the regression's, a fraction of
    the level before. The level is back when what is still lost is below `min_effect`, which nobody
    would hear of, and below half of what the regression took, so that it is nearer to the old
    level than to the new one. More than before is back, too. None when there is nothing to compare.
    """
    if not before or not now:
        return None
    level = fmean(before)
    if level == 0:
        return None
    difference = fmean(now) / level - 1
    lost = -difference if higher_is_better else difference
    return LevelReturn(difference=difference, back=lost <= min(min_effect, abs(effect) / 2))
