"""How well levels of a grid explain the values of each measured kernel; knows no stretches.

A value is, given its image, normal around the image's level, or (a few are) an outlier that says
nothing; an image is normal around the kernel's level, or (a few are) far from it. Its level is
integrated out: for one boot in closed form, for several as a sum over the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy.ndimage import gaussian_filter1d

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.far_images import far_density, reach
from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.search_range import FloatArray, IntArray

_REACH_OF_IMAGES = 3.5  # build noises at which the kernel that spreads an image's level is cut off
_TINY = 1e-300  # so that no density of 0 has a logarithm of -inf
# Beyond so many deviations, or FAR_REACH, what is added to an outlier's density is below what a
# float holds: of the largest normal density, 4e5, exp(-12^2 / 2); of far images, exp(-2.6^4).
_NOTHING_BEYOND, _NOTHING_BEYOND_REACH = 12.0, 2.6
# Densities that are multiplied before a logarithm is taken of them, and none overflows: the least
# is that of an outlier, 0.06, the largest that at the centre of the least noise, 4e5.
_FACTORS = 32
_VALUES_IN_CACHE = 2**16  # floats: half a megabyte; measured: larger ones take longer


@dataclass(kw_only=True, slots=True)
class BootedAgain:
    """What the values of images that were booted several times say of the images' levels.

    That does not depend on how many images lie far off: it is computed once for all hypotheses
    that differ in nothing else.
    """

    readings: Readings
    _kept: dict[SearchNoise, FloatArray] = field(default_factory=dict)

    def log_density(self, noise: SearchNoise, grid: FloatArray) -> FloatArray:
        """The logarithm of p(values of an image | its level), (such images, grid)."""
        alone = replace(noise, far=0.0)
        if alone not in self._kept:
            boots = self.readings.boots_of_image
            sums = _Sums(
                values=self.readings.values[np.repeat(boots > 1, boots)],
                counts=boots[boots > 1],
                sd=noise.run,
                noise=alone,
                far=None,
            )
            self._kept[alone] = sums.logs(grid)
        return self._kept[alone]


def log_likelihoods(
    readings: Readings, noise: SearchNoise, grid: FloatArray, width: float, again: BootedAgain
) -> FloatArray:
    """The logarithm of p(values of a kernel | its level), (m, grid)."""
    boots = readings.boots_of_image
    far = noise.far * far_density(readings, noise)
    kernels = np.zeros((len(readings.kernels), len(grid)))
    several, once = boots > 1, boots == 1
    if several.any():
        anywhere = far[several, None] * reach(readings.level_of_image[several, None] - grid)
        images = _spread(again.log_density(noise, grid), noise, width, anywhere)
        place, first = np.unique(readings.place[several], return_index=True)
        kernels[place] += np.add.reduceat(images, first, axis=0)
    if once.any():
        # An image that was booted once needs no integral: its own level adds to the variance.
        place, count = np.unique(readings.place[once], return_counts=True)
        sums = _Sums(
            values=readings.values[readings.first_of_image[once]],
            counts=count,
            sd=noise.total,
            noise=noise,
            far=far[once] if noise.far else None,
        )
        kernels[place] += sums.logs(grid)
    return kernels


def _spread(
    log_density: FloatArray, noise: SearchNoise, width: float, anywhere: FloatArray
) -> FloatArray:
    """From what is known of an image's level to what that says of its code's, (I, grid).

    `anywhere` (I, grid) is the density of an image that lies far from its code.
    """
    if not noise.far and noise.build <= 0.5 * width:
        return log_density
    top = log_density.max(axis=1, keepdims=True)
    image = np.exp(log_density - top)
    anywhere = width * image.sum(axis=1, keepdims=True) * anywhere
    if noise.build > 0.5 * width:
        image = gaussian_filter1d(
            image, noise.build / width, axis=1, mode="nearest", truncate=_REACH_OF_IMAGES
        )
    spread: FloatArray = np.log((1 - noise.far) * image + anywhere + _TINY) + top
    return spread


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sums:
    """Sums of the logarithms of densities over rows with `counts` (R,) of the values (N,).

    Each value deviates by `sd` from its level; `far` (N,) is what luck with layout adds to the
    density of each, where it is of an image that was booted once.
    """

    values: FloatArray
    counts: IntArray
    sd: float
    noise: SearchNoise
    far: FloatArray | None

    def logs(self, grid: FloatArray) -> FloatArray:
        """For each row and level of the grid, (R, grid).

        A few values at a time, and no more of the grid than they reach, so that what is computed
        of them stays in the processor's cache; their densities are multiplied before a logarithm
        is taken of them.
        """
        factors = -(-self.counts // _FACTORS)
        first_factor = np.cumsum(factors) - factors
        within = np.arange(factors.sum()) - np.repeat(first_factor, factors)
        first_value = np.cumsum(self.counts) - self.counts
        starts = np.repeat(first_value, factors) + _FACTORS * within
        counts = np.diff(np.append(starts, len(self.values)))
        nothing = (1 - self.noise.far if self.far is not None else 1.0) * (
            constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
        )
        logs = np.empty((len(starts), len(grid)))
        logs[:] = (counts * np.log(nothing))[:, None]
        for rows in self._chunks(starts, grid):
            values = slice(
                int(starts[rows.start]), int(starts[rows.stop - 1] + counts[rows.stop - 1])
            )
            near = self._near(values, grid)
            product = self._density(values, grid[near])
            if len(product) > rows.stop - rows.start:
                product = np.multiply.reduceat(product, starts[rows] - values.start, axis=0)
            logs[rows, near] = np.log(product, out=product)
        if len(starts) == len(self.counts):
            return logs
        summed: FloatArray = np.add.reduceat(logs, first_factor, axis=0)
        return summed

    @property
    def _reach(self) -> float:
        """How far from a value the density of an outlier is not all."""
        normal = _NOTHING_BEYOND * self.sd + abs(self.noise.mode_offset)
        far = 0.0 if self.far is None else _NOTHING_BEYOND_REACH * constants.FAR_REACH
        return max(normal, far)

    def _chunks(self, starts: IntArray, grid: FloatArray) -> list[slice]:
        """Rows whose values fit into the cache together."""
        points = len(grid) * min(1.0, 2 * self._reach / float(grid[-1] - grid[0]))
        together = max(int(_VALUES_IN_CACHE / points), _FACTORS)
        edges = [*np.flatnonzero(np.diff(starts // together, prepend=-1)), len(starts)]
        return [slice(int(a), int(b)) for a, b in pairwise(edges)]

    def _near(self, values: slice, grid: FloatArray) -> slice:
        """The levels that the values reach."""
        some = self.values[values]
        low = np.searchsorted(grid, some.min() - self._reach)
        high = np.searchsorted(grid, some.max() + self._reach, side="right")
        return slice(int(low), int(high))

    def _density(self, values: slice, grid: FloatArray) -> FloatArray:
        away = self.values[values, None] - grid
        if self.far is None:
            return _near_density(away, self.sd, self.noise)
        luck = self.far[values, None] * reach(away)
        density = _near_density(away, self.sd, self.noise)
        density *= 1 - self.noise.far
        density += luck
        return density


def _near_density(away: FloatArray, sd: float, noise: SearchNoise) -> FloatArray:
    """The density of values that lie `away` (overwritten) from the level of their image."""
    z = np.divide(away, sd, out=away)
    density = np.exp(-0.5 * z * z)
    if noise.mode_share:
        z -= noise.mode_offset / sd
        density *= 1 - noise.mode_share
        density += noise.mode_share * np.exp(-0.5 * z * z)
    density *= (1 - constants.OUTLIER_SHARE) / (np.sqrt(2 * np.pi) * sd)
    density += constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
    return density
