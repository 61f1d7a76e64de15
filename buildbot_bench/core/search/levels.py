"""The prior of levels over a grid around the measured values, with the claim on the two ends."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.noise_model import Readings, SearchNoise
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, IntArray

# How far, in standard deviations of the noise, the grid reaches around each value.
_REACH = 5.0
# The grid's spacing in standard deviations: of one value, and of the mean of all. A sum over a
# grid of spacing h integrates a normal peak of deviation s to within 2 exp(-2 (pi s / h)^2).
_SPACING = 0.5
_SPACING_OF_MEAN = 2.5  # of the mean, as told above
_MOST_POINTS = 3000  # of the grid; chosen for speed: beyond, the spacing grows


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelGrid:
    """Ascending `levels` (G,) in ln, `width` apart but where a piece (of `pieces`) begins."""

    levels: FloatArray
    width: float
    pieces: tuple[slice, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelGrids:
    """The grids of H hypotheses in one array: `levels` (H, G), `width` (H,), `real` (H, G).

    Those with fewer levels repeat their last, which is then not `real`.
    """

    each: tuple[LevelGrid, ...]
    levels: FloatArray
    width: FloatArray
    real: BoolArray


def level_grid(readings: Readings, noise: SearchNoise) -> LevelGrid:
    """The levels for one hypothesis of the noise."""
    reach = _REACH * noise.total
    values = np.sort(readings.values)
    breaks = np.flatnonzero(np.diff(values) > 2 * reach)
    starts = values[np.append(0, breaks + 1)] - reach
    stops = values[np.append(breaks, len(values) - 1)] + reach
    width = max(_finest(readings, noise), float((stops - starts).sum()) / _MOST_POINTS)
    # Each piece is centred, so that values and their reciprocals see mirrored grids.
    pieces = [
        0.5 * (start + stop) + width * _around_zero(int(np.ceil((stop - start) / width)))
        for start, stop in zip(starts, stops, strict=True)
    ]
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    return LevelGrid(
        levels=np.concatenate(pieces),
        width=width,
        pieces=tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False)),
    )


def together(grids: Sequence[LevelGrid]) -> LevelGrids:
    """Several grids in one array."""
    counts: IntArray = np.array([len(grid.levels) for grid in grids])
    index = np.arange(counts.max())
    return LevelGrids(
        each=tuple(grids),
        levels=np.array([g.levels[np.minimum(index, len(g.levels) - 1)] for g in grids]),
        width=np.array([grid.width for grid in grids]),
        real=index < counts[:, None],
    )


def _around_zero(count: int) -> FloatArray:
    steps: FloatArray = np.arange(count + 1, dtype=float) - 0.5 * count
    return steps


def _finest(readings: Readings, noise: SearchNoise) -> float:
    """The spacing that still sees the narrowest peak: of an image's level or of a stretch's."""
    boots = len(readings.values) if noise.build == 0 else int(readings.boots_of_image.max())
    image = noise.run * min(_SPACING, _SPACING_OF_MEAN / float(np.sqrt(boots)))
    return min(image, _SPACING_OF_MEAN * noise.total / float(np.sqrt(len(readings.image))))


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
