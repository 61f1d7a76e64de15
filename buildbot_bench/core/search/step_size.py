"""The size of a step beside which the level may creep from commit to commit.

The posterior takes the level of a side for constant up to the next step. Where many commits change
it by little, kernels far from the step draw it off, the more the more they were booted. So the
levels of kernels, each by its own images, are weighed as

    level(x) = side(x) + g(x),     g ~ N(0, Q·K)
    K(x, z) = (x·z/n² + [x and z on one side]·min(|x|, |z|)/n) / 2

where x counts commits from the step, n is the range: g is a line through both sides and a walk away
from the step, as probable as each other. The sides have a flat prior, so that the density of the
levels is a restricted likelihood (D. A. Harville, JASA 72, 1977), and the difference of the sides
is that of generalised least squares. It is averaged over Q = 0, for which the posterior stands, and
over some creeps. Half of the square of what the sides' own images say beside that is added to the
variance, for creeps of another shape.
"""

from math import log, log1p, pi, sqrt

import numpy as np

from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.own_levels import Levels, change_between
from buildbot_bench.core.search.search_range import FloatArray

# The creep over a whole range, in ln(1 + min_effect), and its prior weight; none has the rest.
# They and the half were chosen by other seeds and creeps than those of `benchmarks intervals`.
_CREEPS = ((0.5, 0.25), (1.0, 0.25), (2.0, 0.25))
_ODD = 3.0  # standard deviations beyond a creep at which a level is that of boots that went wrong
_FEWEST = 2  # kernels of a side: one alone shows no creep
_OF_BESIDE = 0.5  # as told above
_UNKNOWN = 1.0  # variance of a level in ln, by a factor of e: no image of the kernel is believed
_LIKELY = 0.5  # a probability: rather a step than none


def step_size(
    posterior: AveragedPosterior, own: Levels, gap: int, n: int, policy: SearchPolicy
) -> tuple[float, float]:
    """Return ln(new level / old level) at the step in a gap, and its standard deviation.

    `n` is the number of commits of the range.
    """
    change, sd = float(posterior.change[gap]), float(posterior.change_sd[gap])
    creep = log1p(policy.min_effect)
    here = _kernels_about(posterior, own, gap, creep)
    is_new = here > gap
    if max(own[1][gap : gap + 2]) >= _UNKNOWN:
        return change, sd
    if min(np.count_nonzero(is_new), np.count_nonzero(~is_new)) < _FEWEST:
        return change, sd
    kernels = posterior.readings.kernels[here].astype(float)
    edge = np.where(is_new, posterior.readings.kernels[gap + 1], posterior.readings.kernels[gap])
    away = (kernels - edge) / max(n, 1)
    together = is_new[:, None] == is_new[None, :]
    walk = np.where(together, np.minimum.outer(np.abs(away), np.abs(away)), 0.0)
    covariance = 0.5 * (np.outer(away, away) + walk)
    sides = np.column_stack([~is_new, is_new]).astype(float)
    mean, spread_of_level = own[0][here], np.diag(own[1][here])
    none = 1 - sum(weight for _, weight in _CREEPS)
    logs, sizes = [log(none) + _fit(mean, spread_of_level, sides)[0]], [(change, sd**2)]
    for times, weight in _CREEPS:
        score, size, spread = _fit(mean, spread_of_level + (times * creep) ** 2 * covariance, sides)
        logs.append(log(weight) + score)
        sizes.append((size, spread))
    share = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    means, variances = np.array(sizes).T
    middle = float(share @ means)
    beside = change_between(own, gap, gap + 1)[0] - middle
    variance = float(share @ (variances + (means - middle) ** 2)) + _OF_BESIDE * beside**2
    return middle, sqrt(variance)


def _kernels_about(posterior: AveragedPosterior, own: Levels, gap: int, creep: float) -> np.ndarray:
    """The kernels from the step before to the step after, less those whose boots went wrong."""
    steps = np.flatnonzero(posterior.step > _LIKELY)
    first = max((int(g) + 1 for g in steps if g < gap), default=0)
    last = min((int(g) for g in steps if g > gap), default=len(own[0]) - 1)
    here = np.arange(first, last + 1)
    here = here[own[1][here] < _UNKNOWN]
    away = np.abs(own[0][here] - posterior.level.mean[here])
    return here[away <= _ODD * np.sqrt(own[1][here]) + creep]


def _fit(
    level: FloatArray, covariance: FloatArray, sides: FloatArray
) -> tuple[float, float, float]:
    """Ln of the restricted likelihood; the difference of the sides (k, 2), and its variance."""
    inverse = np.linalg.inv(covariance)
    told = sides.T @ inverse @ sides
    of_sides = np.linalg.inv(told)
    found = of_sides @ sides.T @ inverse @ level
    rest = level - sides @ found
    spread = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(told)[1]
    score = -0.5 * (rest @ inverse @ rest + spread + (len(level) - 2) * log(2 * pi))
    contrast = np.array([-1.0, 1.0])
    return float(score), float(contrast @ found), float(contrast @ of_sides @ contrast)
