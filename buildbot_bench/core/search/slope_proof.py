"""The proof of a slope: measured kernels so near each other that no commit matters by itself.

Marks are measured kernels, the ends among them, between neighbours of which the level changes by
less than a relevant effect e, with its 95 % interval:

    |c| + 1.96 sqrt(v_i + v_j) < e

c is the difference of the levels by the marks' own images, v their variances. A commit that matters
could hide between two marks only beside another that undoes it. The chain of marks that needs the
fewest further boots is a shortest path through the kernels (dynamic programming).
"""

from dataclasses import dataclass
from math import log1p

import numpy as np
from scipy.special import ndtr

from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.own_levels import NORMAL_95, Levels
from buildbot_bench.core.search.search_range import BoolArray, FloatArray

# Marks further apart than this share of the relevant effect need another kernel between them.
_NEAR = 0.75
_TINY = 1e-12  # so that no room of 0 divides


@dataclass(frozen=True, kw_only=True, slots=True)
class SlopeProof:
    """What it still takes to show that nothing between the ends matters by itself.

    `boots` are what all marks still lack (0: it is shown), `place` is the mark that lacks most.
    `hidden` is the probability that a stretch between two marks changes by a relevant effect.
    """

    boots: float
    place: int
    hidden: float


def slope_proof(
    posterior: AveragedPosterior, policy: SearchPolicy, own: Levels, narrow: BoolArray
) -> SlopeProof | None:
    """The cheapest proof of a slope; None when more kernels would have to be measured for it.

    `narrow` (m - 1,) are the gaps between neighbours, in which nothing is left to measure.
    """
    mean, variance = own
    relevant = log1p(policy.relevant_effect)
    apart = np.tri(len(mean), dtype=bool)
    apart |= np.abs(mean[None, :] - mean[:, None]) > _NEAR * relevant
    neighbours = np.flatnonzero(narrow)
    apart[neighbours, neighbours + 1] = False
    lacks = _lacks(own, relevant, posterior.models[0].noise.total ** 2)
    lacks[apart] = np.inf
    marks = _cheapest(lacks)
    if marks is None:
        return None
    first, second = np.array(marks[:-1]), np.array(marks[1:])
    change = mean[second] - mean[first]
    sd = np.sqrt(variance[second] + variance[first])
    hidden = ndtr((change - relevant) / sd) + ndtr((-change - relevant) / sd)
    each = np.zeros(len(mean))
    np.maximum.at(each, first, lacks[first, second])
    np.maximum.at(each, second, lacks[first, second])
    # Of two marks the one that is known less is booted.
    return SlopeProof(
        boots=float(each.sum()),
        place=int(np.argmax(np.where(each > 0, variance, -1.0))),
        hidden=min(float(hidden.sum()), 1.0),
    )


def _lacks(own: Levels, relevant: float, variance_of_boot: float) -> FloatArray:
    """Boots that each of two kernels lacks until they are surely near, (m, m); inf if they are not.

    Of two kernels with n boots each the difference has the variance 2 variance_of_boot / n.
    """
    mean, variance = own
    room = relevant - np.abs(mean[None, :] - mean[:, None])
    wanted = (np.maximum(room, _TINY) / NORMAL_95) ** 2
    more = 2 * variance_of_boot * (1 / wanted - 1 / (variance[None, :] + variance[:, None]))
    lacks: FloatArray = np.where(room > 0, np.maximum(more, 0.0), np.inf)
    return lacks


def _cheapest(lacks: FloatArray) -> list[int] | None:
    """The chain from the first to the last kernel that lacks least, ascending; None for none."""
    m = len(lacks)
    total, before = np.full(m, np.inf), np.zeros(m, dtype=int)
    total[0] = 0.0
    for j in range(1, m):
        through = total[:j] + lacks[:j, j]
        before[j] = int(np.argmin(through))
        total[j] = through[before[j]]
    if not np.isfinite(total[-1]):
        return None
    marks = [m - 1]
    while marks[-1]:
        marks.append(int(before[marks[-1]]))
    return marks[::-1]
