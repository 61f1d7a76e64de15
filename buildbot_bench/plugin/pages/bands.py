"""Where a series' level lies and how far its points may stray from it; pure, it reads no table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import median

from buildbot_bench.core.noise import Noise
from buildbot_bench.plugin.db.series import PointRow

# Nineteen of twenty points of an unchanged level lie within two standard deviations of it.
_DEVIATIONS = 2.0
# A stretch of fewer points has no level yet, and one whose points mostly lie elsewhere has several,
# whose changes are not found yet: a band would tell of a calm that there is not.
_FEWEST = 5
_SETTLED = 0.75


@dataclass(frozen=True, kw_only=True, slots=True)
class Band:
    """Between two positions, both included, a point from `low` to `high` is nothing new."""

    first: int
    last: int
    level: float
    low: float
    high: float


def bands(points: Sequence[PointRow], changes: Iterable[int], noise: Noise) -> list[Band]:
    """The noise band of each stretch that is settled between known changes, epochs among them.

    `changes` are the positions of the first commits on a new level. The level of a stretch is
    the median of its points' means; the spread is that of a point with the usual number of boots.
    """
    found = []
    for stretch in _stretches(points, sorted(set(changes))):
        level = median(point.mean for point in stretch)
        boots = median(point.boots for point in stretch)
        spread = _DEVIATIONS * hypot(noise.sigma_build, noise.sigma_run / boots**0.5)
        band = Band(
            first=stretch[0].position,
            last=stretch[-1].position,
            level=level,
            low=level * (1 - spread),
            high=level * (1 + spread),
        )
        inside = sum(band.low <= point.mean <= band.high for point in stretch)
        if len(stretch) >= _FEWEST and inside >= _SETTLED * len(stretch):
            found.append(band)
    return found


def _stretches(points: Sequence[PointRow], changes: Sequence[int]) -> Iterable[list[PointRow]]:
    stretch: list[PointRow] = []
    ahead = list(reversed(changes))
    for point in points:
        changed = bool(stretch) and stretch[-1].epoch != point.epoch
        while ahead and ahead[-1] <= point.position:
            ahead.pop()
            changed = True
        if changed and stretch:
            yield stretch
            stretch = []
        stretch.append(point)
    if stretch:
        yield stretch
