"""The grid of levels around the measured values, and probability densities of values at them.

A value is normal around its level, in the rarer mode around another, or an outlier; the only value
of an image also has the luck with layout:

    p(y | x) = (1 - f) ((1 - o) N(y - x; 0, sd^2) + o / span) + f far r(y - x)

Many values are computed without terms that are 0 in floating point, and

* over an even grid x = c + e_k, y = c + d, exp(-(d - e_k)^2 / 2) is the product of three factors of
  which that with d and k, exp(d e_k), is again one of exp(d w b), b < B, and exp(d (e_0 + w a B));
* r is smooth, so over values that are near each other it is a Chebyshev polynomial in y.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log, pi, sqrt

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.noise_model import Readings, SearchNoise
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, IntArray
from buildbot_bench.core.search.two_speeds import reach

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


# Beyond so many deviations, or FAR_REACH, what is added to an outlier's density is below what a
# float holds: of the largest normal density, 4e5, exp(-12^2 / 2); of far images, exp(-2.6^4).
_NOTHING_BEYOND, _NOTHING_BEYOND_REACH = 12.0, 2.6
# Densities that are multiplied before a logarithm is taken of them, and none overflows: the least
# is that of an outlier, 0.06, the largest that at the centre of the least noise, 4e5.
_FACTORS = 32
_VALUES_IN_CACHE = 2**16  # floats: half a megabyte; measured: larger ones take longer
# Values that are taken together lie within so much: then no exponent overflows, and a polynomial
# with so many coefficients is r to 1e-12.
_SPAN, _SPAN_OF_REACH = 8.0, 0.5  # deviations; of FAR_REACH
_COEFFICIENTS = 14


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Values (N,) in rows, `counts` (R,) of them each, under H hypotheses of the noise.

    Each deviates by `sds` (H,) from its level; `far` (H, N) is what luck with layout adds to the
    density of each, f far above, or None where nothing is added.
    """

    values: FloatArray
    counts: IntArray
    noises: Sequence[SearchNoise]
    sds: FloatArray
    far: FloatArray | None

    def logs(self, grids: LevelGrids) -> FloatArray:
        """Ln of the product of the densities of each row's values, (H, R, G)."""
        size = self.values.size * grids.levels.size
        if size <= len(self.noises) * _VALUES_IN_CACHE and self.counts.max() <= _FACTORS:
            return self._at_once(grids)
        logs = np.zeros((len(self.noises), len(self.counts), grids.levels.shape[1]))
        for one, grid in enumerate(grids.each):
            levels = len(grid.levels)
            self._windowed(one, grid, logs[one, :, :levels])
            logs[one, :, levels:] = logs[one, :, levels - 1 : levels]
        return logs

    def _at_once(self, grids: LevelGrids) -> FloatArray:
        """As the formula says."""
        column = np.newaxis, np.newaxis
        away = self.values[:, None] - grids.levels[:, None, :]
        sd = self.sds[:, *column]
        z = away / sd
        density = np.exp(-0.5 * z * z)
        for one, noise in enumerate(self.noises):
            if noise.mode_share:
                z[one] -= noise.mode_offset / self.sds[one]
                density[one] *= 1 - noise.mode_share
                density[one] += noise.mode_share * np.exp(-0.5 * z[one] * z[one])
        density *= (1 - constants.OUTLIER_SHARE) / (sqrt(2 * pi) * sd)
        density += constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
        if self.far is not None:
            density *= np.array([1 - noise.far for noise in self.noises])[:, *column]
            density += self.far[:, :, None] * reach(away)
        if len(self.counts) < len(self.values):
            density = np.multiply.reduceat(density, _starts(self.counts), axis=1)
        logs: FloatArray = np.log(density, out=density)
        return logs

    def _windowed(self, one: int, grid: LevelGrid, logs: FloatArray) -> None:
        """Add those of one hypothesis to `logs` (R, G): near values together, where they reach."""
        noise, sd = self.noises[one], float(self.sds[one])
        far = None if self.far is None or not noise.far else self.far[one]
        curve = _Curve(noise=noise, sd=sd, kept=1.0 if self.far is None else 1 - noise.far)
        log_nothing = log(curve.nothing)
        logs += (self.counts * log_nothing)[:, None]
        span = _SPAN * sd
        if far is not None:
            span = min(span, _SPAN_OF_REACH * constants.FAR_REACH)
        for part in _near_each_other(self.values, self.counts, span, len(grid.levels)):
            values = self.values[part.index]
            at = _within(grid.levels, values, curve.reach(is_far=far is not None))
            density = curve.densities(values, None if far is None else far[part.index], grid, at)
            product = np.multiply.reduceat(density, part.starts, axis=0)
            np.log(product, out=product)
            product -= (log_nothing * np.diff(part.starts, append=len(values)))[:, None]
            # A row may have several of the factors.
            np.add.at(logs[:, at], part.rows, product)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Curve:
    """The density of values over levels under one noise; `kept` is 1 - f, of images not far."""

    noise: SearchNoise
    sd: float
    kept: float

    @property
    def nothing(self) -> float:
        """The density of a value that is far from its level."""
        return self.kept * constants.OUTLIER_SHARE / constants.OUTLIER_SPAN

    def reach(self, *, is_far: bool) -> float:
        """How far from a value its density is more than that."""
        normal = _NOTHING_BEYOND * self.sd + abs(self.noise.mode_offset)
        return max(normal, _NOTHING_BEYOND_REACH * constants.FAR_REACH if is_far else 0.0)

    def densities(
        self, values: FloatArray, far: FloatArray | None, grid: LevelGrid, at: slice
    ) -> FloatArray:
        """Of values (N,) that lie near each other, at some levels of the grid, (N, levels)."""
        levels = grid.levels[at]
        if far is None:
            density = np.full((len(values), len(levels)), self.nothing)
        else:
            density = _smooth(values, far, levels, self.nothing)
        near = _within(levels, values, self.reach(is_far=False))
        peak = self.kept * (1 - constants.OUTLIER_SHARE) / (sqrt(2 * pi) * self.sd)
        modes = [(1 - self.noise.mode_share, 0.0), (self.noise.mode_share, self.noise.mode_offset)]
        for piece in grid.pieces:
            first = max(piece.start - at.start, near.start)
            last = min(piece.stop - at.start, near.stop)
            if first >= last:
                continue
            for share, offset in modes:
                if share:
                    away = (values - offset) / self.sd
                    density[:, first:last] += _normal(
                        away, levels[first:last] / self.sd, grid.width / self.sd, share * peak
                    )
        return density


def _normal(values: FloatArray, levels: FloatArray, width: float, peak: float) -> FloatArray:
    """Peak · exp(-(value - level)² / 2) over levels that are `width` apart, (N, levels)."""
    centre = 0.5 * float(values.min() + values.max())
    off, start = values - centre, float(levels[0]) - centre
    inner = ceil(sqrt(len(levels)))
    outer = ceil(len(levels) / inner)
    coarse = np.exp(np.multiply.outer(off, start + width * inner * np.arange(outer)))
    coarse *= (peak * np.exp(-0.5 * off * off))[:, None]
    fine = np.exp(np.multiply.outer(off, width * np.arange(inner)))
    product: FloatArray = (coarse[:, :, None] * fine[:, None, :]).reshape(len(values), -1)[
        :, : len(levels)
    ]
    product *= np.exp(-0.5 * np.square(levels - centre))
    return product


def _smooth(values: FloatArray, far: FloatArray, levels: FloatArray, constant: float) -> FloatArray:
    """Constant + far · r(value - level), (N, levels)."""
    if len(values) <= _COEFFICIENTS:
        return constant + far[:, None] * reach(values[:, None] - levels)
    centre, half = 0.5 * float(values.min() + values.max()), 0.5 * float(np.ptp(values)) + 1e-12
    order = np.arange(_COEFFICIENTS)
    angles = (order + 0.5) * pi / _COEFFICIENTS
    nodes = np.cos(angles)
    of_nodes = np.cos(np.multiply.outer(order, angles)) * (2 / _COEFFICIENTS)
    of_nodes[0] *= 0.5
    coefficients = of_nodes @ reach((centre + half * nodes)[:, None] - levels)
    angle = np.arccos(np.clip((values - centre) / half, -1.0, 1.0))
    factors = np.cos(np.multiply.outer(angle, order)) * far[:, None]
    smooth: FloatArray = factors @ coefficients
    smooth += constant
    return smooth


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """Values (their `index`) near each other.

    They are in groups whose densities may be multiplied: `starts` (F,) index the index, `rows` (F,)
    are those that they belong to.
    """

    index: IntArray
    starts: IntArray
    rows: IntArray


def _near_each_other(
    values: FloatArray, counts: IntArray, span: float, levels: int
) -> Iterator[_Part]:
    """All values in parts: within a span, and few enough for the cache with so many levels."""
    row = np.repeat(np.arange(len(counts)), counts)
    spans = np.floor((values - values.min()) / span).astype(int)
    order = np.lexsort((row, spans))
    row, spans = row[order], spans[order]
    edges = np.flatnonzero(np.diff(spans, prepend=-1)).tolist()
    most = max(_VALUES_IN_CACHE // levels, _FACTORS)
    for begin, end in pairwise([*edges, len(values)]):
        for first in range(begin, end, most):
            index = slice(first, min(first + most, end))
            within = np.arange(index.stop - first)
            new = np.flatnonzero(np.diff(row[index], prepend=-1))
            within -= np.repeat(new, np.diff(new, append=len(within)))
            starts = np.flatnonzero(within % _FACTORS == 0)
            yield _Part(index=order[index], starts=starts, rows=row[index][starts])


def _within(levels: FloatArray, values: FloatArray, distance: float) -> slice:
    """The levels that are no further than that from any of the values."""
    low = np.searchsorted(levels, values.min() - distance)
    high = np.searchsorted(levels, values.max() + distance, side="right")
    return slice(int(low), int(high))


def _starts(counts: IntArray) -> IntArray:
    starts: IntArray = np.cumsum(counts) - counts
    return starts
