"""The prior of levels over a grid, with the claim on the two ends of the range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.search_range import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """Prior weights of the levels of a grid, (H, grid), under H hypotheses of the noise.

    `old` is for the stretch that begins at the old end of the range, `new` for the one that ends
    at its new end, `other` for those that do neither or both.
    """

    other: FloatArray
    old: FloatArray
    new: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class EndsClaim:
    """Where a true claim puts the levels of the old and the new end, and how vaguely, in ln."""

    old: float
    new: float
    spread: FloatArray


def ends_claim(readings: Readings, noise: float | FloatArray, claimed: float) -> EndsClaim | None:
    """A claim, ln(new level / old level), says how far apart the ends lie.

    They lie on both sides of the middle between what was read there; `noise` is the standard
    deviation of single values, of any shape, and the spread has that shape.
    """
    if not claimed:
        return None
    first = readings.values[readings.place_of_value == 0]
    last = readings.values[readings.place_of_value == len(readings.kernels) - 1]
    centre = 0.5 * float(np.median(first) + np.median(last))
    vague = 0.5 * noise * np.sqrt(1 / len(first) + 1 / len(last))
    return EndsClaim(
        old=centre - 0.5 * claimed,
        new=centre + 0.5 * claimed,
        spread=np.hypot(constants.CLAIM_SPREAD * claimed, vague),
    )


def middle(readings: Readings) -> float:
    """Around which levels lie when nothing is said of them, in ln."""
    return float(0.5 * (readings.values.min() + readings.values.max()))


def expect(
    readings: Readings,
    noises: Sequence[SearchNoise],
    grid: FloatArray,
    *,
    sd: FloatArray,
    claimed: float = 0.0,
) -> Expectation:
    """Levels lie around the middle of what was measured, `sd` (H,) wide, in ln; `grid` (H, grid).

    A claim says more of the two ends. Where it is false, they lie as others do.
    """
    other = _normal(grid, middle(readings), sd)
    ends = ends_claim(readings, np.array([noise.total for noise in noises]), claimed)
    if ends is None:
        return Expectation(other=other, old=other, new=other)
    old, new = (_normal(grid, level, ends.spread) for level in (ends.old, ends.new))
    return Expectation(
        other=other,
        old=constants.CLAIM_IS_TRUE * old + (1 - constants.CLAIM_IS_TRUE) * other,
        new=constants.CLAIM_IS_TRUE * new + (1 - constants.CLAIM_IS_TRUE) * other,
    )


def _normal(grid: FloatArray, mean: float, sd: FloatArray) -> FloatArray:
    sd = sd[:, None]
    density: FloatArray = np.exp(-0.5 * ((grid - mean) / sd) ** 2) / (np.sqrt(2 * np.pi) * sd)
    return density
