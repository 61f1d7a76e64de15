"""The level of each measured kernel by its own images alone.

The posterior smooths levels over the stretches that a kernel may belong to. Where many small steps
follow each other, that joins them into none or into large ones.
"""

import numpy as np

from buildbot_bench.core.search.far_images import far_images
from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.search_range import FloatArray

Levels = tuple[FloatArray, FloatArray]  # means and variances of measured kernels, (m,), in ln

NORMAL_95 = 1.959964  # standard deviations: ndtri(0.975)
ODD = 0.9  # the probability from which on an image is said to lie far off
_TINY = 1e-12  # a precision so small that its interval holds everything


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
