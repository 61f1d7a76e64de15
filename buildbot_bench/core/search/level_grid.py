"""Grids of levels around the measured values, over which posteriors are summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.readings import Readings
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
