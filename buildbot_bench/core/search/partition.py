"""The posterior over all partitions of the measured kernels into stretches of one level.

Product partition model (Barry & Hartigan 1993; the recursions are Fearnhead's, "Exact and
efficient Bayesian inference for multiple changepoint problems", Stat. Comput. 16 (2006)): a
partition's weight is the product of its stretches' evidences and, for each cut but the first, the
prior probability that another step is there: somewhere in the range, or soon after the one before.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.search_range import FloatArray, IntArray

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
