"""The posterior of the difference between two sides of several images each, and their votes.

Under the model (`core.model.noise`, `core.model.image_luck`) an image of n boots shows the level x
with variance v = sigma_run²/n. Around the level m of the side's code its density is

    f(x - m) = (1 - p) · N(0, sigma_build² + v) + p · [U(-W/2, W/2) * N(0, v)] + o(n)

with o(n) for images of fewer than three boots, which may be outliers. Given the noise, the
posterior of m under a flat prior is the product of f over the side's images, and the posterior of
the difference is a convolution of both sides'. It is averaged over the noise (`noise_nodes`), each
value weighted by its prior and by the likelihood of all images.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from scipy.special import stdtr

from buildbot_bench.core.contrast.denial import ImageVotes, image_votes
from buildbot_bench.core.contrast.noise_nodes import TAIL, NoiseNodes, noise_nodes
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.image_luck import (
    Floats,
    broad_density,
    near_density,
    outlier_density,
)
from buildbot_bench.core.model.noise import MIN_SIGMA, Noise, robust_level, spread_of_boots

SideBoots = Mapping[int, Sequence[float]]
"""The values of one side's boots by image, in the metric's unit."""

_POINTS_IN_SD = 3.0  # of the narrowest posterior that is thought of
_REACH_SD = 10.0  # how far out levels are looked for, in standard errors
_NOT_ALL_FAR = 4  # images of which one at least is near
_MOST_POINTS = 8192
_TINY = 1e-30  # the density where nothing explains an image
_UNLIKELY = 1e-7  # of the likeliest noise: nodes below it are left out
_AT_ONCE = 8  # densities whose product a float holds


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageLevel:
    """What one image shows: its level (a logarithm), the variance of it by its boots, and boots."""

    level: float
    variance: float
    boots: int


Levels = tuple[ImageLevel, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The posterior of ln(new/base) on a grid, and what else is believed.

    `at` ascends evenly; `below` is the probability to lie below at + half a step. `base` and `new`
    are the medians of the sides' levels, `run` and `build` the expected standard deviations, known
    to `df_run` and `df_build` degrees of freedom.
    `sides` and `votes` have what the images of the base and of the new side show.
    """

    at: Floats
    below: Floats
    base: float
    new: float
    run: float
    build: float
    df_run: float
    df_build: float
    sides: tuple[Levels, Levels]
    votes: tuple[ImageVotes, ImageVotes]

    def quantile(self, share: float) -> float:
        """Return the logarithm below which the difference lies with the probability `share`."""
        step = self.at[1] - self.at[0]
        return float(np.interp(share, self.below, self.at + step / 2))

    def probability_below(self, log: float) -> float:
        """Return the probability that the difference lies below `log`."""
        step = self.at[1] - self.at[0]
        return float(np.interp(log, self.at + step / 2, self.below, left=0.0, right=1.0))

    def doubt(self) -> float:
        """Return the posterior's two-sided p of no difference.

        The nodes leave out the largest noise (`TAIL`), which alone makes far tails: there it is at
        least that of Student's t with the degrees of freedom of images and boots as F. E.
        Satterthwaite joins them ("An approximate distribution of estimates of variance components",
        Biometrics Bulletin 2, 1946).
        """
        below = self.probability_below(0.0)
        doubt = 2 * min(below, 1 - below)
        if doubt >= 2 * TAIL:
            return doubt
        error = math.hypot(*(_narrowest(side, self.build) for side in self.sides))
        images = self.of_images
        df = 1 / (images**2 / self.df_build + (1 - images) ** 2 / self.df_run)
        student = 2 * float(stdtr(df, -abs(self.quantile(0.5)) / error))
        return max(doubt, min(student, 2 * TAIL))

    def sure_beyond(self, least: float, sign: float) -> float:
        """Return the probability that the difference, times `sign` (1 or -1), exceeds `least`."""
        below = self.probability_below(sign * least)
        return 1 - below if sign > 0 else below

    def interval(self, confidence: float) -> tuple[float, float, float]:
        """Return the effect, a fraction of the base, with its interval; `confidence` in percent."""
        outside = (1 - confidence / 100) / 2
        middle, low, high = (self.quantile(share) for share in (0.5, outside, 1 - outside))
        return math.expm1(middle), math.expm1(low), math.expm1(high)

    @property
    def fewest_images(self) -> int:
        """The number of images of the side that has fewer."""
        return min(map(len, self.sides))

    @property
    def of_images(self) -> float:
        """The share of the variance of the difference that images make, not their boots."""
        images = self.build**2 * sum(1 / len(side) for side in self.sides)
        boots = sum(image.variance / len(side) ** 2 for side in self.sides for image in side)
        return images / (images + boots)

    @property
    def contradicted(self) -> bool:
        """Whether as many images of a side deny the difference as show it."""
        return any(side.contradicted for side in self.votes)


def run_noise(sides: Sequence[SideBoots], noise: Noise) -> tuple[float, float]:
    """The deviation of boots of one image, far ones drawn in, with its degrees of freedom."""
    squares, df = noise.df_run * noise.sigma_run**2, noise.df_run
    for boots in (logs for side in sides for logs in _logs(side).values()):
        drawn = [min(max(log, low), high) for low, high in [_reach(boots, noise)] for log in boots]
        squares += sum((log - fmean(drawn)) ** 2 for log in drawn)
        df += len(boots) - 1
    return math.sqrt(squares / df), df


def image_levels(side: SideBoots, sigma_run: float) -> Levels:
    """What each image with a positive value shows, by its number."""
    return tuple(
        ImageLevel(
            level=robust_level(logs, sigma_run),
            variance=max(spread_of_boots(logs, sigma_run), MIN_SIGMA) ** 2 / len(logs),
            boots=len(logs),
        )
        for logs in _logs(side).values()
    )


def difference(base: SideBoots, new: SideBoots, noise: Noise, *, layout: bool = True) -> Difference:
    """The posterior of how far `new` lies above `base`; each has a positive value at least.

    Without `layout` boots alone tell. Values that are not positive are passed over.
    """
    sigma_run, df_run = run_noise((base, new), noise)
    nodes = noise_nodes(noise, df_run, layout=layout)
    sides = (image_levels(base, sigma_run), image_levels(new, sigma_run))
    build_weight = nodes.weight.sum(axis=1)
    sigma_build = float(np.exp(build_weight @ np.log(nodes.build))) if layout else noise.rounding
    step = min(_narrowest(side, sigma_build) for side in sides) / _POINTS_IN_SD
    step = max(step, max(_span(side, sigma_build) for side in sides) / _MOST_POINTS)
    grids = [_grid(side, sigma_build, step) for side in sides]
    densities = [_posteriors(*pair, nodes) for pair in zip(sides, grids, strict=True)]
    evidence = [density.sum(axis=-1) for density in densities]
    weight = nodes.weight * evidence[0] * evidence[1]
    likely = weight > _UNLIKELY * weight.max()
    weight = weight[likely] / weight[likely].sum()
    masses = [
        density[likely] / total[likely][:, None]
        for density, total in zip(densities, evidence, strict=True)
    ]
    below = np.cumsum(_of_difference(masses[0], masses[1], weight))
    medians = [
        float(np.interp(0.5, np.cumsum(weight @ mass), grid))
        for mass, grid in zip(masses, grids, strict=True)
    ]
    build = np.broadcast_to(nodes.build[:, None], likely.shape)[likely]
    return Difference(
        at=grids[1][0] - grids[0][-1] + step * np.arange(below.size),
        below=below / below[-1],
        base=medians[0],
        new=medians[1],
        run=sigma_run,
        df_run=df_run,
        df_build=noise.df_build + sum(len(side) - 1 for side in sides),
        build=math.sqrt(float(weight @ build**2)),
        sides=sides,
        votes=(_votes(sides[0], *medians), _votes(sides[1], *medians[::-1])),
    )


def _votes(side: Levels, level: float, other: float) -> ImageVotes:
    images = ((image.level, math.sqrt(image.variance)) for image in side)
    return image_votes(images, level=level, other=other)


def _posteriors(images: Sequence[ImageLevel], grid: Floats, nodes: NoiseNodes) -> Floats:
    """Of each node the likelihood of the levels of `grid`, in one scale for all: (K, P, grid)."""
    logs = np.zeros((*nodes.weight.shape, grid.size))
    each = np.ones_like(logs)
    runs, of_run = np.unique(nodes.run, return_inverse=True)
    wrong = outlier_density([image.boots for image in images]) * constants.OUTLIER_SPAN
    share = nodes.share[None, :, None]
    for number, (image, odd) in enumerate(zip(images, wrong, strict=True), start=1):
        away = image.level - grid
        near = near_density(away, (image.variance * nodes.run**2)[:, None], nodes.build[:, None])
        variance = image.variance * runs[:, None] ** 2
        broad = broad_density(away, variance)[of_run, None]
        lost = odd * broad_density(away, variance, constants.OUTLIER_SPAN)[of_run, None]
        each *= (1 - share) * near[:, None] + share * broad + lost + _TINY
        if number % _AT_ONCE == 0 or number == len(images):
            logs += np.log(each)
            each = np.ones_like(logs)
    return np.asarray(np.exp(logs - logs.max()))


def _of_difference(base: Floats, new: Floats, weight: Floats) -> Floats:
    """The masses of new - base, from the lowest one up, averaged over nodes: (nodes, grid) each."""
    size = base.shape[-1] + new.shape[-1] - 1
    length = 1 << (size - 1).bit_length()
    spectrum = weight @ (np.fft.rfft(base[:, ::-1], length) * np.fft.rfft(new, length))
    return np.maximum(np.asarray(np.fft.irfft(spectrum, length), dtype=np.float64)[:size], 0.0)


def _narrowest(images: Sequence[ImageLevel], sigma_build: float) -> float:
    """The standard error of a side's level, were no image far."""
    return 1 / math.sqrt(sum(1 / (sigma_build**2 + image.variance) for image in images))


def _margin(images: Sequence[ImageLevel], sigma_build: float) -> float:
    """How far beyond its images a side's level may lie."""
    reach = _REACH_SD * math.sqrt(
        (sigma_build**2 + max(image.variance for image in images)) / len(images)
    )
    if len(images) >= _NOT_ALL_FAR:
        return reach
    odd = max(outlier_density([image.boots for image in images])) > 0
    flat = max(constants.OUTLIER_SPAN if odd else 0.0, constants.FAR_SPAN if sigma_build else 0.0)
    return flat / 2 + reach


def _span(images: Sequence[ImageLevel], sigma_build: float) -> float:
    levels = [image.level for image in images]
    return max(levels) - min(levels) + 2 * _margin(images, sigma_build)


def _grid(images: Sequence[ImageLevel], sigma_build: float, step: float) -> Floats:
    first = min(image.level for image in images) - _margin(images, sigma_build)
    steps = np.arange(math.ceil(_span(images, sigma_build) / step) + 1, dtype=np.float64)
    return np.asarray(first + step * steps)


def _logs(side: SideBoots) -> dict[int, list[float]]:
    found = {
        image: [math.log(value) for value in side[image] if 0 < value < math.inf]
        for image in sorted(side)
    }
    return {image: logs for image, logs in found.items() if logs}


def _reach(logs: Sequence[float], noise: Noise) -> tuple[float, float]:
    middle = float(np.median(logs))
    return middle - 3 * noise.sigma_run, middle + 3 * noise.sigma_run
