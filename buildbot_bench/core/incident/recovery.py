"""The check whether a metric is back at its level before a regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelReturn:
    """The level that was measured later against the level before the regression.

    `difference` is a fraction of the level before, signed as the metric is: +0.01 is one percent
    more. `back` says whether the regression is over.
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
