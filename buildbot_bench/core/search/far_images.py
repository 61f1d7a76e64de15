"""The heavy tail of luck with layout: a few images lie far from their code's level.

The level of an image is that of its code plus b, with

    p(b) = (1 - f) N(b; 0, sigma_build^2) + f r(b) p_far,    p_far = w / (2 FAR_REACH) + (1 - w) q
    r(b) = exp(-(b / FAR_REACH)^4)

The place of a far image is unknown. The worst place is the other side of a step, where it passes
for that side's code: q is the density, at this image's level, of the images that read alike. A far
image says nothing of its code's level but that luck reaches no further than r. The share f has a
Beta prior, updated by the responsibilities of the images seen to be far (Dempster, Laird & Rubin,
JRSS B 39, 1977).
"""

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.readings import Readings
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
