"""The likelihood and the prior of each measured kernel's level, over a grid of levels.

Given its image, a value is normal around the image's level, or an outlier; an image is normal
around the kernel's level, or far from it. The image's level is integrated out: for one boot in
closed form, for several as a sum over the grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.grid import LevelGrid, LevelGrids, Rows, level_grid, together
from buildbot_bench.core.search.noise_model import Readings, SearchNoise
from buildbot_bench.core.search.search_range import FloatArray
from buildbot_bench.core.search.two_speeds import far_density, reach

_REACH_OF_IMAGES = 3.5  # build noises at which the kernel that spreads an image's level is cut off
_TINY = 1e-300  # so that no density of 0 has a logarithm of -inf


@dataclass(kw_only=True, slots=True)
class SharedTerms:
    """What is computed of the values once for all hypotheses that share it.

    The grid and the density of far images are those of a run and a build noise. What images that
    were booted several times say of their levels does not depend on how many lie far off.
    """

    readings: Readings
    _grids: dict[tuple[float, float], LevelGrid] = field(default_factory=dict)
    _far: dict[tuple[float, float], FloatArray] = field(default_factory=dict)
    _several: dict[SearchNoise, FloatArray] = field(default_factory=dict)

    def grids(self, noises: Sequence[SearchNoise]) -> LevelGrids:
        """The levels to look at."""
        for noise in noises:
            if (noise.run, noise.build) not in self._grids:
                self._grids[noise.run, noise.build] = level_grid(self.readings, noise)
        return together([self._grids[noise.run, noise.build] for noise in noises])

    def far(self, noises: Sequence[SearchNoise]) -> FloatArray:
        """F times the density of far images, (H, I)."""
        for noise in noises:
            if noise.far and (noise.run, noise.build) not in self._far:
                self._far[noise.run, noise.build] = far_density(self.readings, noise)
        nothing = np.zeros(len(self.readings.image))
        return np.array(
            [
                noise.far * self._far[noise.run, noise.build] if noise.far else nothing
                for noise in noises
            ]
        )

    def several(self, noises: Sequence[SearchNoise], grids: LevelGrids) -> list[FloatArray]:
        """The logarithm of p(values of an image | its level), (images booted again, levels)."""
        # Nor does it depend on the speeds of images.
        alone = [replace(one, far=0.0, other_share=0.0, other_offset=0.0) for one in noises]
        new = [one for one, noise in enumerate(alone) if noise not in self._several]
        if new:
            boots = self.readings.boots_of_image
            rows = Rows(
                values=self.readings.values[np.repeat(boots > 1, boots)],
                counts=boots[boots > 1],
                noises=[alone[one] for one in new],
                sds=np.array([alone[one].run for one in new]),
                far=None,
            )
            found = rows.logs(together([grids.each[one] for one in new]))
            for one, logs in zip(new, found, strict=True):
                self._several[alone[one]] = logs[:, : len(grids.each[one].levels)]
        return [self._several[noise] for noise in alone]


def log_likelihoods(
    readings: Readings, noises: Sequence[SearchNoise], grids: LevelGrids, kept: SharedTerms
) -> FloatArray:
    """The logarithm of p(values of a kernel | its level), (H, m, G); not real ones repeat it."""
    boots = readings.boots_of_image
    far = kept.far(noises)
    kernels = np.zeros((len(noises), len(readings.kernels), grids.levels.shape[1]))
    several, once = boots > 1, boots == 1
    if several.any():
        place, first = np.unique(readings.place[several], return_index=True)
        level = readings.level_of_image[several, None]
        for one, logs in enumerate(kept.several(noises, grids)):
            grid = grids.each[one]
            images = _spread(logs, noises[one], grid, far[one, several, None], level)
            count = len(grid.levels)
            kernels[one, place, :count] += np.add.reduceat(images, first, axis=0)
            kernels[one, :, count:] = kernels[one, :, count - 1 : count]
    if once.any():
        # An image that was booted once needs no integral: its own level adds to the variance.
        place, counts = np.unique(readings.place[once], return_counts=True)
        rows = Rows(
            values=readings.values[readings.first_of_image[once]],
            counts=counts,
            noises=[_of_single_boot(noise) for noise in noises],
            sds=np.array([noise.total for noise in noises]),
            far=far[:, once] if any(noise.far for noise in noises) else None,
        )
        kernels[:, place] += rows.logs(grids)
    return kernels


def _of_single_boot(noise: SearchNoise) -> SearchNoise:
    """Two speeds of images look like two of boots where each image was booted once."""
    if not noise.other_share:
        return noise
    return replace(noise, mode_share=noise.other_share, mode_offset=noise.other_offset)


def _spread(
    log_density: FloatArray,
    noise: SearchNoise,
    grid: LevelGrid,
    far: FloatArray,
    level: FloatArray,
) -> FloatArray:
    """From what is known of an image's level to what that says of its code's, (I, grid).

    `far` (I, 1) is f times the density of those that lie far off, `level` (I, 1) their level.
    """
    width = grid.width
    if not noise.far and not noise.other_share and noise.build <= 0.5 * width:
        return log_density
    top = log_density.max(axis=1, keepdims=True)
    image = np.exp(log_density - top)
    anywhere = reach(level - grid.levels)
    anywhere *= width * image.sum(axis=1, keepdims=True) * far
    if noise.build > 0.5 * width:
        image = gaussian_filter1d(
            image, noise.build / width, axis=1, mode="nearest", truncate=_REACH_OF_IMAGES
        )
    if noise.other_share:
        other = _shifted(image, grid, noise.other_offset)
        image *= 1 - noise.other_share
        other *= noise.other_share
        image += other
    image *= 1 - noise.far
    image += anywhere
    image += _TINY
    spread: FloatArray = np.log(image, out=image)
    spread += top
    return spread


def _shifted(density: FloatArray, grid: LevelGrid, offset: float) -> FloatArray:
    """The density of each level plus an offset, (I, grid); none beyond the grid."""
    levels = grid.levels
    return np.array(
        [np.interp(levels + offset, levels, one, left=0.0, right=0.0) for one in density]
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """Prior weights of the levels of a grid, (H, grid), under H hypotheses of the noise.

    `old` is for the stretch that begins at the old end of the range, `new` for the one that ends
    at its new end, `other` for those that do neither or both.
    """

    other: FloatArray
    old: FloatArray
    new: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class EndsClaim:
    """Where a true claim puts the levels of the old and the new end, and how vaguely, in ln."""

    old: float
    new: float
    spread: FloatArray


def ends_claim(readings: Readings, noise: float | FloatArray, claimed: float) -> EndsClaim | None:
    """A claim, ln(new level / old level), says how far apart the ends lie.

    They lie on both sides of the middle between what was read there; `noise` is the standard
    deviation of single values, of any shape, and the spread has that shape.
    """
    if not claimed:
        return None
    first = readings.values[readings.place_of_value == 0]
    last = readings.values[readings.place_of_value == len(readings.kernels) - 1]
    centre = 0.5 * float(np.median(first) + np.median(last))
    vague = 0.5 * noise * np.sqrt(1 / len(first) + 1 / len(last))
    return EndsClaim(
        old=centre - 0.5 * claimed,
        new=centre + 0.5 * claimed,
        spread=np.hypot(constants.CLAIM_SPREAD * claimed, vague),
    )


def middle(readings: Readings) -> float:
    """Around which levels lie when nothing is said of them, in ln."""
    return float(0.5 * (readings.values.min() + readings.values.max()))


def expect(
    readings: Readings,
    noises: Sequence[SearchNoise],
    grid: FloatArray,
    *,
    sd: FloatArray,
    claimed: float = 0.0,
) -> Expectation:
    """Levels lie around the middle of what was measured, `sd` (H,) wide, in ln; `grid` (H, grid).

    A claim says more of the two ends. Where it is false, they lie as others do.
    """
    other = _normal(grid, middle(readings), sd)
    ends = ends_claim(readings, np.array([noise.total for noise in noises]), claimed)
    if ends is None:
        return Expectation(other=other, old=other, new=other)
    old, new = (_normal(grid, level, ends.spread) for level in (ends.old, ends.new))
    return Expectation(
        other=other,
        old=constants.CLAIM_IS_TRUE * old + (1 - constants.CLAIM_IS_TRUE) * other,
        new=constants.CLAIM_IS_TRUE * new + (1 - constants.CLAIM_IS_TRUE) * other,
    )


def _normal(grid: FloatArray, mean: float, sd: FloatArray) -> FloatArray:
    sd = sd[:, None]
    density: FloatArray = np.exp(-0.5 * ((grid - mean) / sd) ** 2) / (np.sqrt(2 * np.pi) * sd)
    return density
