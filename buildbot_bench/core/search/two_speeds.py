"""Images far from their code's level, and images of two speeds, by chance and not by code.

The level of an image is that of its code plus b, with

    p(b) = (1 - f) N(b; 0, sigma_build^2) + f r(b) p_far,    p_far = w / (2 FAR_REACH) + (1 - w) q
    r(b) = exp(-(b / FAR_REACH)^4)

The place of a far image is unknown. The worst place is the other side of a step, where it passes
for that side's code: q is the density, at this image's level, of the images that read alike. A far
image says nothing of its code's level but that luck reaches no further than r. The share f has a
Beta prior, updated by the responsibilities of the images seen to be far (Dempster, Laird & Rubin,
JRSS B 39, 1977).

A linker that aligns a loop or does not makes kernels of two speeds a distance apart. What is seen
at two neighbours is then a step, or two images of the two kinds: each image more that a step
foretells makes that half as likely. So two speeds are hypotheses of the noise beside all others,

    p(b) = (1 - s) N(b; 0, sigma_build^2) + s N(b - d; 0, sigma_build^2),

for a few shares s. Distances d are those of groups that the images' levels fall into. Each stands
for all that are about as far: Laplace's method weighs it by the width that the images leave it.
"""

from dataclasses import replace
from math import exp, log1p, pi, sqrt

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import Hypothesis, Readings, SearchNoise, narrow
from buildbot_bench.core.search.search_range import FloatArray, IntArray

_TINY = 1e-300  # so that no density of 0 divides
_ALIKE = 3.0  # standard deviations within which two images read alike; a normal's 99.7 %


def far_density(readings: Readings, noise: SearchNoise) -> FloatArray:
    """The density of far images at each image's level, (I,), per ln of the metric."""
    anywhere = constants.FAR_ANYWHERE / (2 * constants.FAR_REACH)
    if not noise.far:
        return np.zeros(len(readings.image))
    level = readings.level_of_image
    sd = np.sqrt(noise.build**2 + noise.run**2 / readings.boots_of_image)
    ordered = np.sort(level)
    alike = np.searchsorted(ordered, level + _ALIKE * sd, side="right")
    alike -= np.searchsorted(ordered, level - _ALIKE * sd)
    peak = 1 / np.sqrt(4 * np.pi * sd * sd)
    # Of those that read alike the first lies anywhere: they do not explain each other.
    first = 1 / alike
    density: FloatArray = anywhere + (1 - constants.FAR_ANYWHERE) * np.where(
        alike > 1, peak ** (1 - first) * anywhere**first, 0.0
    )
    return density


def far_images(readings: Readings, noise: SearchNoise, level: FloatArray) -> FloatArray:
    """P(the image lies far off), (I,), where `level` (m,) are the kernels' levels."""
    if not noise.far:
        return np.zeros(len(readings.image))
    every = np.arange(len(readings.image))
    odds = far_odds(readings, noise, every, level[readings.place], np.zeros(len(every)))
    return odds / (1 + odds)


def far_odds(
    readings: Readings,
    noise: SearchNoise,
    image: int | IntArray,
    level: FloatArray,
    variance: FloatArray,
) -> FloatArray:
    """P(far) / P(not far) of an image whose code has a level of this mean and variance, (N,)."""
    boots = readings.boots_of_image[image]
    total = noise.build**2 + noise.run**2 / boots + variance
    away = readings.level_of_image[image] - level
    near = (1 - noise.far) * np.exp(-0.5 * away**2 / total) / np.sqrt(2 * np.pi * total)
    # One boot that is off may have gone wrong by itself.
    outlier = np.where(boots == 1, constants.OUTLIER_SHARE / constants.OUTLIER_SPAN, 0.0)
    far = noise.far * far_density(readings, noise)[image]
    odds: FloatArray = reach(away) * far / (near + outlier + _TINY)
    return odds


def reach(away: FloatArray) -> FloatArray:
    """How much rarer luck is that moves an image so far, in ln: 1 where it is near, then less."""
    seldom = np.square(np.asarray(away) / constants.FAR_REACH)
    # Squared twice: numpy takes a hundred times as long for a fourth power.
    np.square(seldom, out=seldom)
    np.negative(seldom, out=seldom)
    return np.asarray(np.exp(seldom, out=seldom))


def prior_share(policy: SearchPolicy) -> float:
    """The share of far images before anything is measured."""
    if not policy.layout:
        return 0.0
    return constants.FAR_SHARE if policy.far_share is None else policy.far_share


def posterior_share(policy: SearchPolicy, responsibilities: FloatArray) -> float:
    """The share of far images after these (I,) were seen: the mean of a Beta posterior."""
    weight = constants.FAR_SHARE_WEIGHT
    seen, prior = float(responsibilities.sum()), prior_share(policy)
    share = (weight * prior + seen) / (weight + len(responsibilities))
    return min(share, max(constants.MOST_FAR, prior))


# The share of images that are of the other speed, and its weight: a half or few, either way.
_SHARES = ((0.5, 0.25), (0.2, 0.25))
# Standard deviations that two groups lie apart at least: halves of one are 1.6.
_APART = 2.5


def of_two_speeds(readings: Readings, policy: SearchPolicy, best: Hypothesis) -> list[Hypothesis]:
    """Hypotheses in which images have two speeds, given the best in which they have one."""
    if not (policy.layout and policy.images):
        return []
    alone = narrow(policy, best)
    if policy.sigma_build is not None:
        alone = replace(alone, noise=replace(alone.noise, build=policy.sigma_build))
    found = []
    for distance, error in _distances(readings, alone.noise):
        prior = constants.TWO_SPEEDS * distance_prior(policy, distance, error) * alone.weight
        found += [
            Hypothesis(
                noise=replace(alone.noise, other_share=share, other_offset=sign * distance),
                weight=weight * prior,
            )
            for share, weight in _SHARES
            for sign in (-1, 1)
        ]
    return found


def _distances(readings: Readings, noise: SearchNoise) -> list[tuple[float, float]]:
    """How far two groups of images lie apart, with errors, in ln.

    The two may be those of all images or, where a step makes them, those of either group.
    """
    low, high = split(np.sort(readings.level_of_image))
    found = []
    for one, other in ((low, high), split(low), split(high)):
        if not len(one) or not len(other):
            continue
        distance = float(other.mean() - one.mean())
        if _APART * noise.total < distance <= log1p(constants.BEYOND_LAYOUT):
            found.append((distance, noise.total * sqrt(1 / len(one) + 1 / len(other))))
    return found


def split(level: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ascending levels in two groups that spread least; the second is empty where there is one."""
    if not len(level):
        return level, level
    count, total = np.arange(1, len(level)), np.cumsum(level)
    between = (total[:-1] - count * total[-1] / len(level)) ** 2 / (count * (len(level) - count))
    at = 1 + int(np.argmax(between)) if len(between) else len(level)
    return level[:at], level[at:]


def distance_prior(policy: SearchPolicy, distance: float, error: float) -> float:
    """The prior density of a distance times the width that the images leave it.

    Nothing more is said of it than of a step: both are about as large as what is seen.
    """
    density = 1 / distance
    if policy.claimed:
        # What raised the alarm may have been such an image: then the claim tells the distance.
        claimed = abs(log1p(policy.claimed))
        sd = sqrt((constants.CLAIM_SPREAD * claimed) ** 2 + error**2)
        near = exp(-0.5 * ((distance - claimed) / sd) ** 2) / (sqrt(2 * pi) * sd)
        density = 0.5 * (density + near)
    return min(sqrt(2 * pi) * error * density, 1.0)


def other_speed(readings: Readings, noise: SearchNoise, level: FloatArray) -> FloatArray:
    """P(the image is of the other speed), (I,), where `level` (m,) are the kernels' levels."""
    every = np.arange(len(readings.image))
    return other_odds(readings, noise, every, level[readings.place], np.zeros(len(every)))


def other_odds(
    readings: Readings,
    noise: SearchNoise,
    image: int | np.ndarray,
    level: FloatArray,
    variance: FloatArray,
) -> FloatArray:
    """P(the other speed) of an image whose code has a level of this mean and variance, (N,)."""
    share = noise.other_share
    if not share:
        return np.zeros(np.broadcast(image, level).shape)
    total = noise.build**2 + noise.run**2 / readings.boots_of_image[image] + variance
    away = readings.level_of_image[image] - level
    gain = 0.5 * (away**2 - (away - noise.other_offset) ** 2) / total
    odds = share / (1 - share) * np.exp(np.clip(gain, -50, 50))
    probability: FloatArray = odds / (1 + odds)
    return probability


def without_speeds(readings: Readings, noise: SearchNoise, level: FloatArray) -> Readings:
    """The readings less what the speed of each image adds to them, as likely as it is."""
    if not noise.other_share:
        return readings
    off = noise.other_offset * other_speed(readings, noise, level)
    return replace(
        readings,
        values=readings.values - np.repeat(off, readings.boots_of_image),
        level_of_image=readings.level_of_image - off,
    )
