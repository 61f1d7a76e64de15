"""The evidence of one common level for each stretch of measured kernels.

For every stretch i..j of measured kernels: the evidence ∫ π(level) Π p(values | level) d(level),
and the mean and variance of the level. The integral is a sum over a grid of levels, which needs no
approximation for outliers: Barry & Hartigan, "A Bayesian analysis for change point problems", JASA
88 (1993).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from buildbot_bench.core.search.levels import Expectation, LevelGrids, expect
from buildbot_bench.core.search.likelihood import SharedTerms, log_likelihoods
from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.search_range import FloatArray

_TINY = 1e-300  # so that no density of 0 has a logarithm of -inf
# Stretches that may have shrunk by this much, in ln, are rescaled before they are grown further;
# with what is not taken for 0 this is less than a float holds: 708.
_MOST_SHRUNK = 300.0
# A stretch is not grown where a cut explains the values better by so much, in ln: a cut costs 20.
_HOPELESS = 400.0
_WORTH_CHECKING = 8  # stretches; fewer are grown as they are
# Of a stretch's mass: taken for 0, before numbers get so small that processors are slow with them.
_NOTHING = 1e-170


@dataclass(frozen=True, kw_only=True, slots=True)
class Normal:
    """Means and variances of normally distributed quantities, of any shape.

    Of shape (m, m), entry [i, j] speaks of measured kernels i..j and is void where i > j.
    """

    mean: FloatArray
    variance: FloatArray


def segment_evidence(
    readings: Readings,
    noises: Sequence[SearchNoise],
    prior_sd: FloatArray,
    claimed: float = 0.0,
    kept: SharedTerms | None = None,
) -> tuple[Normal, FloatArray]:
    """The level of every stretch and the ln of its evidence, (H, m, m), under each of the noises.

    `prior_sd` (H,) is how far levels may lie from the middle of what was measured, and `claimed`
    what the new end's is said to be above the old end's (0: nothing is said), both in ln. `kept`
    keeps what hypotheses of these readings share.
    """
    kept = kept or SharedTerms(readings=readings)
    grids = kept.grids(noises)
    expected = expect(readings, noises, grids.levels, sd=prior_sd, claimed=claimed)
    log_likelihood = log_likelihoods(readings, noises, grids, kept)
    return _accumulate(log_likelihood, expected, grids)


def _accumulate(
    log_likelihood: FloatArray, expected: Expectation, grids: LevelGrids
) -> tuple[Normal, FloatArray]:
    """Grow all stretches by a few kernels at a time, rescaled so that nothing underflows."""
    count, m, _ = log_likelihood.shape
    sums = np.zeros((count, m, 3, m))
    log_sum = np.full((count, m, m), -np.inf)
    log_scale = np.zeros((count, m))
    middle = 0.5 * (grids.levels[:, :1] + grids.levels[:, -1:])
    level = grids.levels - middle
    powers = np.stack([np.ones_like(level), level, level * level], axis=1)
    top = log_likelihood.max(axis=2)
    shrinks = (top - log_likelihood.min(axis=2)).max(axis=0)
    log_likelihood -= top[:, :, None]
    likelihood = np.exp(log_likelihood, out=log_likelihood)
    weight = grids.width[:, None] * grids.real
    running = np.zeros_like(likelihood)
    begun = np.tri(m, dtype=bool).T
    alive = 0
    for first, last in _blocks(shrinks):
        begins = expected.old if first == 0 else expected.other
        running[:, first:last] = (weight * begins)[:, None]
        if last == m:
            # These stretches reach the new end. The longest reaches both: neither is expected.
            running[:, max(alive, 1) :] *= (expected.new / expected.other)[:, None]
            running[:, 0] *= expected.other / expected.old
        rows, columns = slice(alive, last), slice(first, last)
        grown = _grow(running[:, rows], likelihood[:, columns], first - alive, powers)
        sums[:, rows, :, columns] = grown
        log_sum[:, rows, columns] = np.where(
            begun[rows, columns],
            np.log(np.maximum(grown[:, :, 0], _TINY)) + log_scale[:, rows, None],
            -np.inf,
        )
        if last < m:
            mass = np.maximum(grown[:, :, 0, -1], _TINY)
            live = running[:, rows]
            live *= (1 / mass)[:, :, None]
            live *= live >= _NOTHING
            log_scale[:, rows] += np.log(mass)
            alive += _given_up(log_sum[:, rows, alive:last])
    before = np.cumsum(top, axis=1)
    log_sum += before[:, None, :] - (before - top)[:, :, None]
    mass = np.maximum(sums[:, :, 0], _TINY)
    mean = sums[:, :, 1] / mass
    variance = np.maximum(sums[:, :, 2] / mass - mean * mean, 0.0)
    return Normal(mean=mean + middle[:, :, None], variance=variance), log_sum


def _given_up(log_sum: FloatArray) -> int:
    """How many of the stretches that begin first are not worth growing: (H, K, K) of begin and end.

    Two stretches that begin and end alike explain the values so much better that no prior of a cut
    makes up for it, nor will what comes next: both would grow by it alike.
    """
    if log_sum.shape[1] < _WORTH_CHECKING:
        return 0
    cut = (log_sum[:, :-1, :-1] + log_sum[:, 1:, -1:].transpose(0, 2, 1)).max(axis=2)
    hopeless = (log_sum[:, :-1, -1] < cut - _HOPELESS).all(axis=0)
    return int(np.argmin(np.append(hopeless, False)))


def _grow(
    running: FloatArray, likelihood: FloatArray, first: int, powers: FloatArray
) -> FloatArray:
    """Multiply the stretches that begin at 0, 1, … by K kernels from `first` on, one by one.

    Their moments (H, first + K, 3, K) after each kernel; those that have not begun have none.
    """
    count = likelihood.shape[1]
    if count == 1:
        running *= likelihood
        single: FloatArray = (running @ powers.transpose(0, 2, 1))[..., None]
        return single
    grown = np.cumprod(likelihood, axis=1)
    # Stretches that begin within have not grown by what lies before them.
    running[:, first + 1 :] /= grown[:, :-1]
    moments = (powers[:, :, None] * grown[:, None]).reshape(len(running), 3 * count, -1)
    sums: FloatArray = (running @ moments.transpose(0, 2, 1)).reshape(len(running), -1, 3, count)
    sums[:, first:] *= np.tri(count).T[:, None]
    running *= grown[:, -1:]
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
