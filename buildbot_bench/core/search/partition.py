"""The posterior over all partitions of the measured kernels into stretches of one level.

For every stretch i..j of measured kernels: the evidence ∫ π(level) Π p(values | level) d(level),
and the mean and variance of the level. The integral is a sum over a grid of levels, which needs no
approximation for outliers: Barry & Hartigan, "A Bayesian analysis for change point problems", JASA
88 (1993).

Product partition model (Barry & Hartigan 1993; the recursions are Fearnhead's, "Exact and
efficient Bayesian inference for multiple changepoint problems", Stat. Comput. 16 (2006)): a
partition's weight is the product of its stretches' evidences and, for each cut but the first, the
prior probability that another step is there: somewhere in the range, or soon after the one before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.grid import LevelGrids
from buildbot_bench.core.search.likelihood import Expectation, SharedTerms, expect, log_likelihoods
from buildbot_bench.core.search.noise_model import Readings, SearchNoise
from buildbot_bench.core.search.search_range import FloatArray, IntArray

_LEAST_DENSITY = 1e-300  # so that no density of 0 has a logarithm of -inf
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
            np.log(np.maximum(grown[:, :, 0], _LEAST_DENSITY)) + log_scale[:, rows, None],
            -np.inf,
        )
        if last < m:
            mass = np.maximum(grown[:, :, 0, -1], _LEAST_DENSITY)
            live = running[:, rows]
            live *= (1 / mass)[:, :, None]
            live *= live >= _NOTHING
            log_scale[:, rows] += np.log(mass)
            alive += _given_up(log_sum[:, rows, alive:last])
    before = np.cumsum(top, axis=1)
    log_sum += before[:, None, :] - (before - top)[:, :, None]
    mass = np.maximum(sums[:, :, 0], _LEAST_DENSITY)
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


_LONG = 150  # numbers; measured: from here on the largest is worth finding before the rest
_TINY = 1e-12  # commits; so that an empty gap does not divide by 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """`stretch` (m, m): P(kernels i..j have one level, and their neighbours others).

    `step` (m - 1,): P(a step between measured kernels g and g + 1). `log_evidence` of all the data.
    """

    stretch: FloatArray
    step: FloatArray
    log_evidence: float


def clustering_of(begins: FloatArray, ends: FloatArray, commits: int) -> FloatArray:
    """How much likelier a step is for the step before it: ln of a ratio ≥ 1, (m, m).

    Entry [i, j] speaks of steps in the gaps i - 1 and j, which the stretch i..j keeps apart. The
    distance of clustered steps is d commits with probability 1 / (d (d + 1)), beyond d with
    1 / (d + 1); summed over the commits of two gaps that is four harmonic numbers. `begins` and
    `ends` (m - 1,) are the cumulated prior of the commits where each gap begins and ends.
    """
    m = len(begins) + 1
    begins, ends = begins * commits, ends * commits
    gap = np.maximum(ends - begins, _TINY)
    if np.array_equal(begins[1:], ends[:-1]):
        edges = np.append(begins, ends[-1])
        harmonic = _harmonic(edges, edges)
        pairs = harmonic[:-1, :-1] - harmonic[1:, :-1] - harmonic[:-1, 1:] + harmonic[1:, 1:]
    else:
        pairs = _harmonic(begins, begins) - _harmonic(ends, begins)
        pairs += _harmonic(ends, ends) - _harmonic(begins, ends)
    followed = constants.CLUSTERED_STEP * pairs / gap[:, None]
    anywhere = constants.FURTHER_STEP * gap / max(commits, 1)
    ratio: FloatArray = np.zeros((m, m))
    ratio[1:-1, 1:-1] = np.log1p(np.triu(np.maximum(followed / anywhere, 0.0), 1)[:-1, 1:])
    return ratio


def _harmonic(before: FloatArray, after: FloatArray) -> FloatArray:
    """The harmonic number, less a constant, of each distance: (a,) and (b,) to (a, b)."""
    far: FloatArray = digamma(np.maximum(after - before[:, None], 0.0) + 1.0)
    return far


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPrior:
    """Where steps are expected.

    `gap_prior` (m - 1,) is the prior mass between measured kernels.

    `clustering` (m, m) is what clustering_of says of them; `none` the probability, before
    anything is measured, that nothing changed in the range.
    """

    gap_prior: FloatArray
    clustering: FloatArray
    none: float

    @property
    def log_cut(self) -> FloatArray:
        """Of a step in each gap beside others, (m - 1,)."""
        with np.errstate(divide="ignore"):
            log_cut: FloatArray = np.log(constants.FURTHER_STEP * self.gap_prior)
        return log_cut

    @property
    def log_none(self) -> float:
        """Of no step at all, beside any that there may be."""
        return float(np.log(self.none * constants.FURTHER_STEP / (1 - self.none)))

    def log_of(self, cuts: IntArray) -> FloatArray:
        """Of P partitions with K steps each, by their gaps in ascending order: (P, K) to (P,)."""
        if not cuts.shape[1]:
            return np.full(len(cuts), self.log_none)
        together = self.clustering[cuts[:, :-1] + 1, cuts[:, 1:]].sum(axis=1)
        total: FloatArray = together + self.log_cut[cuts].sum(axis=1)
        return total


def partition_posteriors(log_evidence: FloatArray, prior: StepPrior) -> list[Partition]:
    """Sum over all partitions of m measured kernels, under each of H hypotheses: (H, m, m)."""
    count, m, _ = log_evidence.shape
    log_cut = prior.log_cut
    weight = log_evidence + prior.clustering
    weight[:, 0, m - 1] += prior.log_none
    ending = np.ascontiguousarray(weight.transpose(0, 2, 1))
    before = np.zeros((count, m))
    for i in range(1, m):
        before[:, i] = _log_sum(before[:, :i] + ending[:, i - 1, :i]) + log_cut[i - 1]
    after = np.zeros((count, m))
    for j in range(m - 2, -1, -1):
        after[:, j] = _log_sum(after[:, j + 1 :] + weight[:, j + 1, j + 1 :]) + log_cut[j]
    total = _log_sum(before + ending[:, m - 1])
    weight += before[:, :, None]
    weight += after[:, None, :]
    weight -= total[:, None, None]
    stretch = np.exp(weight, out=weight)
    step = stretch.sum(axis=1)[:, :-1]
    return [
        Partition(stretch=stretch[one], step=step[one], log_evidence=float(total[one]))
        for one in range(count)
    ]


def _log_sum(logarithms: FloatArray) -> FloatArray:
    """The logarithm of the sum of what these are logarithms of, (H, N); one of each is finite."""
    if len(logarithms) * logarithms.shape[1] < _LONG:
        return np.asarray(np.logaddexp.reduce(logarithms, axis=1))
    top: FloatArray = logarithms.max(axis=1)
    top += np.log(np.exp(logarithms - top[:, None]).sum(axis=1))
    return top
