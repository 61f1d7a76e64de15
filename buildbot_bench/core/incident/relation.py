"""Alarms that may share a cause, what tells most of them, and the end of an incident."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from buildbot_bench.core.metric import more_is_better


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


# Chosen: C(d) comes out to five digits at any d.
_NODES = 64
# Chosen: what the noise of a series is guessed wrong by; a search that moves leaves boots behind.
_CLEARLY_CHEAPER = 1.25
# Bits beyond log2 n: an error of 1 % and the levels themselves; `make bench` has 14 boots for
# n = 1600, d = 10, where log2 n is 10.6.
_BITS_OF_LEVELS = 4.0


def bits_per_boot(effect: float, sigma_run: float, sigma_build: float = 0.0) -> float:
    """What one boot of one image says of the side of a step, in bits, 0 to 1.

    `effect` is a fraction of the level, of either sign; the sigmas are standard deviations
    between boots of one image and between images of one code, fractions as well.
    """
    noise = math.hypot(sigma_run, sigma_build)
    step = abs(math.log1p(max(effect, -0.999)))
    if noise == 0:
        return 1.0 if step else 0.0
    d = min(step / noise, 40.0)  # beyond that it is one bit to the last digit
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    lost = np.logaddexp2(0.0, -d * (d / 2 + nodes) / math.log(2))
    return float(np.clip(1 - np.sum(weights * lost) / np.sum(weights), 0.0, 1.0))


def information_per_second(
    effect: float, *, sigma_run: float, sigma_build: float, boot_s: float, run_s: float
) -> float:
    """The score of a series, in bits per second of its testbed."""
    return bits_per_boot(effect, sigma_run, sigma_build) / max(boot_s + run_s, 1e-9)


def bits_to_find(commits: int) -> float:
    """What a search of so many commits has to learn, in bits."""
    return math.log2(max(commits, 1)) + _BITS_OF_LEVELS


def is_worth_moving(*, here: float, there: float, spent_s: float, commits: int) -> bool:
    """Whether a search ends clearly sooner elsewhere; scores are in bits per second."""
    if there <= 0:
        return False
    bits = bits_to_find(commits)
    left_s = max(bits / here - spent_s, 0.0) if here > 0 else math.inf
    return left_s > _CLEARLY_CHEAPER * bits / there


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
