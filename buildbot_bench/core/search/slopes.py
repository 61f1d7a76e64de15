"""Slopes, odd images and creeping levels, by the level of each kernel by its own images alone.

The posterior smooths levels over the stretches that a kernel may belong to. Where many small steps
follow each other, that joins them into none or into large ones.

Marks are measured kernels, the ends among them, between neighbours of which the level changes by
less than a relevant effect e, with its 95 % interval:

    |c| + 1.96 sqrt(v_i + v_j) < e

c is the difference of the levels by the marks' own images, v their variances. A commit that matters
could hide between two marks only beside another that undoes it. The chain of marks that needs the
fewest further boots is a shortest path through the kernels (dynamic programming).

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

from dataclasses import dataclass
from itertools import pairwise
from math import log, log1p, pi, sqrt

import numpy as np
from scipy.special import ndtr

from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import OddImage, SearchPolicy, Slope, SlopePart
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, SearchRange
from buildbot_bench.core.search.two_speeds import far_images

Levels = tuple[FloatArray, FloatArray]  # means and variances of measured kernels, (m,), in ln

NORMAL_95 = 1.959964  # standard deviations: ndtri(0.975)
ODD = 0.9  # the probability from which on an image is said to lie far off
_TINY = 1e-12  # a precision so small that its interval holds everything, a room of 0


def own_levels(posterior: AveragedPosterior) -> Levels:
    """Mean and variance of each measured kernel's level by its own images, odd ones left out."""
    readings, noise = posterior.seen, posterior.models[0].noise
    believed = far_images(readings, noise, posterior.level.mean) < ODD
    weight = believed / (noise.build**2 + noise.run**2 / readings.boots_of_image)
    # Where no image is believed, nothing is known of the kernel.
    total = np.maximum(np.bincount(readings.place, weight), _TINY)
    mean = np.bincount(readings.place, weight * readings.level_of_image) / total
    return mean, 1 / total


def change_between(levels: Levels, first: int, last: int) -> tuple[float, float]:
    """From the level of one measured kernel to another's, with its 95 % interval's half width."""
    mean, variance = levels
    sd = float(np.sqrt(variance[first] + variance[last]))
    return float(mean[last] - mean[first]), NORMAL_95 * sd


# Marks further apart than this share of the relevant effect need another kernel between them.
_NEAR = 0.75


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


def slopes_between(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    found: tuple[int, ...],
    policy: SearchPolicy,
) -> tuple[Slope, ...]:
    """The stretches between found steps (gaps) and ends that change by a relevant effect.

    Both ends of a stretch must have boots enough to prove it: one that was booted once may be odd.
    """
    levels = own_levels(posterior)
    boots = np.bincount(posterior.readings.place_of_value)
    edges = [-1, *found, len(posterior.readings.kernels) - 1]
    slopes = []
    for before, after in pairwise(edges):
        first, last = before + 1, after
        change, error = change_between(levels, first, last)
        proved = min(boots[first], boots[last]) >= policy.values_that_prove
        if not proved or abs(change) - error < log1p(policy.relevant_effect):
            continue
        marks = _marks(levels, first, last, np.sign(change))
        slopes.append(
            Slope(
                whole=_part(search_range, posterior, levels, (first, last)),
                parts=tuple(_part(search_range, posterior, levels, two) for two in pairwise(marks)),
            )
        )
    return tuple(slopes)


def _marks(levels: Levels, first: int, last: int, sign: float) -> list[int]:
    """Measured kernels first..last between any two of which the level surely changed that way."""
    marks = [first]
    for place in range(first + 1, last + 1):
        change, error = change_between(levels, marks[-1], place)
        if sign * change > error:
            marks.append(place)
    # What comes after the last mark is too little to be told from nothing.
    return [*marks[:-1], last]


def odd_images(search_range: SearchRange, posterior: AveragedPosterior) -> tuple[OddImage, ...]:
    """The images that lie far from their code's level, by position."""
    readings, best = posterior.readings, posterior.models[0]
    level = posterior.level.mean
    share = far_images(readings, best.noise, level)
    away = readings.level_of_image - level[readings.place]
    return tuple(
        OddImage(
            position=int(search_range.ask[readings.kernels[readings.place[i]]]),
            image=int(readings.image[i]),
            effect=float(np.expm1(away[i])),
        )
        for i in np.flatnonzero(share > ODD)
    )


def _part(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    levels: Levels,
    between: tuple[int, int],
) -> SlopePart:
    change, error = change_between(levels, *between)
    effect, low, high = (float(np.expm1(x)) for x in (change, change - error, change + error))
    old, new = (int(posterior.readings.kernels[place]) for place in between)
    return SlopePart(old=search_range.last_with(old), new=new, effect=effect, low=low, high=high)


# The creep over a whole range, in ln(1 + min_effect), and its prior weight; none has the rest.
# They and the half were chosen by other seeds and creeps than those of `benchmarks intervals`.
_CREEPS = ((0.5, 0.25), (1.0, 0.25), (2.0, 0.25))
_OUTLYING = (
    3.0  # standard deviations beyond a creep at which a level is that of boots that went wrong
)
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
    spells = sum(one.weight for one in posterior.models if one.drift)
    if policy.spells and spells > _LIKELY:
        return change, sd  # own levels lie in spells, of which a creep knows nothing
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
    return here[away <= _OUTLYING * np.sqrt(own[1][here]) + creep]


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
