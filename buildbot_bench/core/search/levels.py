"""How well one common level explains each stretch of measured kernels; knows no partitions.

For every stretch i..j of measured kernels: the evidence ∫ π(level) Π p(values | level) d(level),
and the mean and variance of the level given that stretch. A value is, given its image, normal
around the image's level, or (a few are) an outlier that says nothing; an image is normal around
the kernel's level. The integral is a sum over a grid of levels, which needs no approximation for
outliers: see Barry & Hartigan, "A Bayesian analysis for change point problems", JASA 88 (1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from buildbot_bench.core.search.expectation import Expectation, expect
from buildbot_bench.core.search.ground import FloatArray
from buildbot_bench.core.search.noise_model import OUTLIER_SHARE, OUTLIER_SPAN, LogNoise
from buildbot_bench.core.search.readings import Readings

# How far, in standard deviations of the noise, the grid reaches around each value.
_REACH = 5.0
# The grid's spacing in standard deviations: of one value, and of the mean of all. A sum over a
# grid of spacing h integrates a normal peak of deviation s to within 2 exp(-2 (pi s / h)^2).
_SPACING = 0.5
_SPACING_OF_MEAN = 2.5  # of the mean, as told above
_REACH_OF_IMAGES = 3.5  # build noises at which the kernel that spreads an image's level is cut off
_MOST_POINTS = 3000  # of the grid; chosen for speed: beyond, the spacing grows
_TINY = 1e-300  # so that no density of 0 has a logarithm of -inf
# Stretches that may have shrunk by this much, in ln, are rescaled before they are grown further.
_MOST_SHRUNK = 150.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Normal:
    """Means and variances of normally distributed quantities, of any shape.

    Of shape (m, m), entry [i, j] speaks of measured kernels i..j and is void where i > j.
    """

    mean: FloatArray
    variance: FloatArray


def explain(
    readings: Readings, noise: LogNoise, prior_sd: float, claimed: float = 0.0
) -> tuple[Normal, FloatArray]:
    """The level of every stretch and the ln of its evidence, under one hypothesis of the noise.

    `prior_sd` is how far levels may lie from the middle of what was measured, and `claimed` what
    the new end's is said to be above the old end's (0: nothing is said), both in ln.
    """
    grid, width = _grid(readings, noise)
    expected = expect(readings, noise, grid, sd=prior_sd, claimed=claimed)
    log_likelihood = _likelihood(readings, noise, grid, width)
    return _accumulate(log_likelihood, expected, grid, width)


def _grid(readings: Readings, noise: LogNoise) -> tuple[FloatArray, float]:
    """Levels worth looking at: evenly spaced around the values, nothing where no value is near."""
    reach = _REACH * noise.total
    values = np.sort(readings.values)
    breaks = np.flatnonzero(np.diff(values) > 2 * reach)
    starts = values[np.append(0, breaks + 1)] - reach
    stops = values[np.append(breaks, len(values) - 1)] + reach
    width = max(_finest(readings, noise), float((stops - starts).sum()) / _MOST_POINTS)
    # Each piece is centred, so that values and their reciprocals see mirrored grids.
    pieces = [
        0.5 * (start + stop) + width * _around_zero(int(np.ceil((stop - start) / width)))
        for start, stop in zip(starts, stops, strict=True)
    ]
    return np.concatenate(pieces), width


def _around_zero(count: int) -> FloatArray:
    steps: FloatArray = np.arange(count + 1, dtype=float) - 0.5 * count
    return steps


def _finest(readings: Readings, noise: LogNoise) -> float:
    """The spacing that still sees the narrowest peak: of an image's level or of a stretch's."""
    boots = len(readings.values) if noise.build == 0 else int(readings.boots_of_image.max())
    image = noise.run * min(_SPACING, _SPACING_OF_MEAN / float(np.sqrt(boots)))
    return min(image, _SPACING_OF_MEAN * noise.total / float(np.sqrt(len(readings.image))))


def _likelihood(readings: Readings, noise: LogNoise, grid: FloatArray, width: float) -> FloatArray:
    """The logarithm of p(values of a kernel | its level), (m, grid)."""
    boots = readings.boots_of_image
    # An image that was booted once needs no integral: its own level adds to the variance.
    alone = np.repeat(boots == 1, boots)
    values, total = readings.values, np.where(alone, noise.total, noise.run)
    log_value = _log_density(values[:, None] - grid, total[:, None], noise)
    log_image = np.add.reduceat(log_value, readings.first_of_image, axis=0)
    several = np.flatnonzero(boots > 1)
    if len(several) and noise.build > 0.5 * width:
        top = log_image[several].max(axis=1, keepdims=True)
        image = np.exp(log_image[several] - top)
        spread = gaussian_filter1d(
            image, noise.build / width, axis=1, mode="nearest", truncate=_REACH_OF_IMAGES
        )
        log_image[several] = np.log(spread + _TINY) + top
    firsts = np.flatnonzero(np.diff(readings.place, prepend=-1))
    kernels: FloatArray = np.add.reduceat(log_image, firsts, axis=0)
    return kernels


def _log_density(away: FloatArray, sd: FloatArray, noise: LogNoise) -> FloatArray:
    """The logarithm of the density of a value that lies `away` from the level of its image."""
    z = away / sd
    density = np.exp(-0.5 * z * z)
    if noise.mode_share:
        z -= noise.mode_offset / sd
        density *= 1 - noise.mode_share
        density += noise.mode_share * np.exp(-0.5 * z * z)
    density *= (1 - OUTLIER_SHARE) / (np.sqrt(2 * np.pi) * sd)
    logarithm: FloatArray = np.log(density + OUTLIER_SHARE / OUTLIER_SPAN)
    return logarithm


def _accumulate(
    log_likelihood: FloatArray, expected: Expectation, grid: FloatArray, width: float
) -> tuple[Normal, FloatArray]:
    """Grow all stretches by one kernel at a time, rescaled so that nothing underflows."""
    m = len(log_likelihood)
    sums = np.zeros((m, m, 3))
    log_scale = np.zeros((m, m))
    middle = 0.5 * (grid[0] + grid[-1])
    level = grid - middle
    powers = np.stack([np.ones_like(level), level, level * level]).T
    top = log_likelihood.max(axis=1)
    shrinks = top - log_likelihood.min(axis=1)
    likelihood = np.exp(log_likelihood - top[:, None])
    running = np.zeros_like(likelihood)
    shrunk = 0.0
    for j in range(m):
        running[j] = width * (expected.old if j == 0 else expected.other)
        grown = running[: j + 1]
        if j == m - 1:
            # These stretches reach the new end. The longest reaches both: neither is expected.
            grown[1:] *= expected.new / expected.other
            grown[0] *= expected.other / expected.old
        grown *= likelihood[j]
        sums[: j + 1, j] = grown @ powers
        shrunk += float(shrinks[j])
        if shrunk > _MOST_SHRUNK:
            mass = np.maximum(sums[: j + 1, j, :1], _TINY)
            grown /= mass
            log_scale[: j + 1, j + 1 :] += np.log(mass)
            shrunk = 0.0
    mass = np.maximum(sums[:, :, 0], _TINY)
    log_scale += np.cumsum(top) - np.append(0.0, np.cumsum(top)[:-1])[:, None]
    log_evidence = np.where(np.tri(m, k=-1, dtype=bool), -np.inf, np.log(mass) + log_scale)
    mean = sums[:, :, 1] / mass
    variance = np.maximum(sums[:, :, 2] / mass - mean * mean, 0.0)
    return Normal(mean=mean + middle, variance=variance), log_evidence
