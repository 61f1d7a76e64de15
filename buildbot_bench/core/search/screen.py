"""Quick scores of noise hypotheses around known levels.

Around levels x that another hypothesis found, the values of an image of n boots have, by Laplace's
method, about the likelihood

    Π p(y | b) · sqrt(2 pi run² / n) · ((1 - f) N(b - x; 0, build² + run² / n) + f far r(b - x))

where b, the image's level, is their median. The neglected uncertainty of the levels is nearly the
same under similar hypotheses.
"""

from collections.abc import Sequence
from math import log

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.far_images import far_density, reach
from buildbot_bench.core.search.noise_model import Hypothesis, SearchNoise
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.search_range import FloatArray


def quick_scores(
    readings: Readings, hypotheses: Sequence[Hypothesis], level: FloatArray
) -> FloatArray:
    """The logarithm of each one's prior times its evidence, about, less one constant, (H,).

    `level` (m,) are those of the measured kernels. Hypotheses have no modes.
    """
    return np.array([log(one.weight) + _log(readings, one.noise, level) for one in hypotheses])


def _log(readings: Readings, noise: SearchNoise, level: FloatArray) -> float:
    boots = readings.boots_of_image
    off = readings.level_of_image - level[readings.place]
    outlier = constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
    near = _normal(off, noise.build**2 + noise.run**2 / boots)
    single = boots == 1
    near = np.where(single, (1 - constants.OUTLIER_SHARE) * near + outlier, near)
    density = (1 - noise.far) * near
    if noise.far:
        density += noise.far * far_density(readings, noise) * reach(off)
    within = readings.values - np.repeat(readings.level_of_image, boots)
    of_boot = (1 - constants.OUTLIER_SHARE) * _normal(within, noise.run**2) + outlier
    several = np.log(of_boot[np.repeat(~single, boots)]).sum()
    several += 0.5 * np.log(2 * np.pi * noise.run**2 / boots[~single]).sum()
    return float(np.log(np.maximum(density, 1e-300)).sum() + several)


def _normal(away: FloatArray, variance: float | FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * away * away / variance) / np.sqrt(2 * np.pi * variance)
    return density
