"""How well one common level explains each stretch of measured kernels; knows no partitions.

For every stretch i..j of measured kernels: the evidence ∫ π(level) Π p(values | level) d(level),
and the mean and variance of the level given that stretch. What a kernel's values say of its level
stands in core.search.likelihood. The integral is a sum over a grid of levels, which needs no
approximation for outliers: see Barry & Hartigan, "A Bayesian analysis for change point problems",
JASA 88 (1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from buildbot_bench.core.search.level_prior import Expectation, expect
from buildbot_bench.core.search.likelihood import BootedAgain, log_likelihoods
from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.search_range import FloatArray

# How far, in standard deviations of the noise, the grid reaches around each value.
_REACH = 5.0
# The grid's spacing in standard deviations: of one value, and of the mean of all. A sum over a
# grid of spacing h integrates a normal peak of deviation s to within 2 exp(-2 (pi s / h)^2).
_SPACING = 0.5
_SPACING_OF_MEAN = 2.5  # of the mean, as told above
_MOST_POINTS = 3000  # of the grid; chosen for speed: beyond, the spacing grows
_TINY = 1e-300  # so that no density of 0 has a logarithm of -inf
# Stretches that may have shrunk by this much, in ln, are rescaled before they are grown further.
_MOST_SHRUNK = 150.0
# A stretch is not grown where a cut explains the values better by so much, in ln: a cut costs 20.
_HOPELESS = 400.0
_WORTH_CHECKING = 8  # stretches; fewer are grown as they are
# Of a stretch's mass: taken for 0, before numbers get so small that processors are slow with them.
_NOTHING = 1e-200


@dataclass(frozen=True, kw_only=True, slots=True)
class Normal:
    """Means and variances of normally distributed quantities, of any shape.

    Of shape (m, m), entry [i, j] speaks of measured kernels i..j and is void where i > j.
    """

    mean: FloatArray
    variance: FloatArray


def segment_evidence(
    readings: Readings,
    noise: SearchNoise,
    prior_sd: float,
    claimed: float = 0.0,
    again: BootedAgain | None = None,
) -> tuple[Normal, FloatArray]:
    """The level of every stretch and the ln of its evidence, under one hypothesis of the noise.

    `prior_sd` is how far levels may lie from the middle of what was measured, and `claimed` what
    the new end's is said to be above the old end's (0: nothing is said), both in ln. `again` keeps
    what hypotheses of these readings share.
    """
    grid, width = _grid(readings, noise)
    expected = expect(readings, noise, grid, sd=prior_sd, claimed=claimed)
    again = again or BootedAgain(readings=readings)
    log_likelihood = log_likelihoods(readings, noise, grid, width, again)
    return _accumulate(log_likelihood, expected, grid, width)


def _grid(readings: Readings, noise: SearchNoise) -> tuple[FloatArray, float]:
    """Levels worth looking at: evenly spaced around the values, nothing where no value is near."""
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
    return np.concatenate(pieces), width


def _around_zero(count: int) -> FloatArray:
    steps: FloatArray = np.arange(count + 1, dtype=float) - 0.5 * count
    return steps


def _finest(readings: Readings, noise: SearchNoise) -> float:
    """The spacing that still sees the narrowest peak: of an image's level or of a stretch's."""
    boots = len(readings.values) if noise.build == 0 else int(readings.boots_of_image.max())
    image = noise.run * min(_SPACING, _SPACING_OF_MEAN / float(np.sqrt(boots)))
    return min(image, _SPACING_OF_MEAN * noise.total / float(np.sqrt(len(readings.image))))


def _accumulate(
    log_likelihood: FloatArray, expected: Expectation, grid: FloatArray, width: float
) -> tuple[Normal, FloatArray]:
    """Grow all stretches by a few kernels at a time, rescaled so that nothing underflows."""
    m = len(log_likelihood)
    sums = np.zeros((m, 3, m))
    log_sum = np.full((m, m), -np.inf)
    log_scale = np.zeros(m)
    middle = 0.5 * (grid[0] + grid[-1])
    level = grid - middle
    powers = np.stack([np.ones_like(level), level, level * level])
    top = log_likelihood.max(axis=1)
    likelihood = np.exp(log_likelihood - top[:, None])
    running = np.zeros_like(likelihood)
    begun = np.tri(m, dtype=bool).T
    alive = 0
    for first, last in _blocks(top - log_likelihood.min(axis=1)):
        running[first:last] = width * (expected.old if first == 0 else expected.other)
        if last == m:
            # These stretches reach the new end. The longest reaches both: neither is expected.
            running[max(alive, 1) :] *= expected.new / expected.other
            running[0] *= expected.other / expected.old
        rows, columns = slice(alive, last), slice(first, last)
        grown = _grow(running[rows], likelihood[columns], first - alive, powers)
        sums[rows, :, columns] = grown
        log_sum[rows, columns] = np.where(
            begun[rows, columns],
            np.log(np.maximum(grown[:, 0], _TINY)) + log_scale[rows, None],
            -np.inf,
        )
        if last < m:
            mass = np.maximum(grown[:, 0, -1], _TINY)
            running[rows] /= mass[:, None]
            running[rows][running[rows] < _NOTHING] = 0.0
            log_scale[rows] += np.log(mass)
            alive += _given_up(log_sum[rows, alive:last])
    log_sum += np.cumsum(top) - np.append(0.0, np.cumsum(top)[:-1])[:, None]
    mass = np.maximum(sums[:, 0], _TINY)
    mean = sums[:, 1] / mass
    variance = np.maximum(sums[:, 2] / mass - mean * mean, 0.0)
    return Normal(mean=mean + middle, variance=variance), log_sum


def _given_up(log_sum: FloatArray) -> int:
    """How many of the stretches that begin first are not worth growing: (K, K) of begin and end.

    Two stretches that begin and end alike explain the values so much better that no prior of a cut
    makes up for it, nor will what comes next: both would grow by it alike.
    """
    if len(log_sum) < _WORTH_CHECKING:
        return 0
    cut = (log_sum[:-1, :-1] + log_sum[1:, -1]).max(axis=1)
    hopeless = log_sum[:-1, -1] < cut - _HOPELESS
    return int(np.argmin(np.append(hopeless, False)))


def _grow(
    running: FloatArray, likelihood: FloatArray, first: int, powers: FloatArray
) -> FloatArray:
    """Multiply the stretches that begin at 0, 1, … by K kernels from `first` on, one by one.

    Their moments (first + K, 3, K) after each kernel; those that have not begun have none.
    """
    count = len(likelihood)
    if count == 1:
        running *= likelihood
        single: FloatArray = (running @ powers.T)[:, :, None]
        return single
    grown = np.cumprod(likelihood, axis=0)
    # Stretches that begin within have not grown by what lies before them.
    running[first + 1 :] /= grown[:-1]
    moments = (powers[:, None] * grown).reshape(len(powers) * count, -1)
    sums: FloatArray = (running @ moments.T).reshape(-1, len(powers), count)
    sums[first:] *= np.triu(np.ones((count, count)))[:, None]
    running *= grown[-1]
    return sums


def _blocks(shrinks: FloatArray) -> list[tuple[int, int]]:
    """Kernels in runs first..last - 1 that together shrink a stretch by no more than may be.

    The first and the last kernel stand alone, for the claim speaks of the ends.
    """
    m = len(shrinks)
    blocks: list[tuple[int, int]] = []
    first, shrunk = 0, 0.0
    for j in range(m):
        if j > first and (first == 0 or j == m - 1 or shrunk + shrinks[j] > _MOST_SHRUNK):
            blocks.append((first, j))
            first, shrunk = j, 0.0
        shrunk += float(shrinks[j])
    return [*blocks, (first, m)]
