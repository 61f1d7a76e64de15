"""Luck with layout: how far an image lies from its code's level, and how often it lies far.

The ln(level) of an image is that of its code plus b, a contaminated normal (J. W. Tukey, *A survey
of sampling from contaminated distributions*, 1960):

    b ~ (1 - p) · N(0, sigma_build²) + p · U(-W/2, W/2)        W = FAR_SPAN
    p ~ Beta(p0·w, (1 - p0)·w)                   p0 = FAR_SHARE, w = TESTBED_FAR_WEIGHT

Half of p0 lies below the others; in a testbed's own history each side is counted by itself. An
image that lies d from its code's level elsewhere, with variance v and t the density of Student's t
with sigma_build's degrees of freedom, is far with probability

    P = p/W / [p/W + (1 - p) · t(d/√v)/√v + o(n)]

where o(n) = n · OUTLIER_SHARE / OUTLIER_SPAN for n < 3 boots, which may be outliers, and 0 for
more. The posterior of p counts each image with its P (expectation and maximization: A. P. Dempster,
N. M. Laird, D. B. Rubin, JRSS B 39, 1977): Beta(p0·w + ΣP, (1 - p0)·w + Σ(1 - P)). d is the least
distance to other images of the position and to the positions before and after; an image that
nothing follows is left out, since a change of code agrees only with later images.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr, poch

from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import robust_level

Floats = NDArray[np.float64]

_REACH = 3  # positions on each side that tell its level: their median withstands one far image
_MEDIAN = math.pi / 2  # variance of a normal's median over that of its mean
_ROBUST_BOOTS = 3  # of so many boots the level withstands one that went wrong
_ROUNDS = 50  # of expectation and maximization; it converges in a dozen


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedImage:
    """The logarithms of an image's boots, and the position of its revision."""

    position: int
    logs: Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class FarShare:
    """The share of images that lie far off: a Beta's mean, and how many images stand behind it."""

    mean: float
    weight: float

    @property
    def sd(self) -> float:
        """The standard deviation of what is known of the share."""
        return math.sqrt(self.mean * (1 - self.mean) / (self.weight + 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageLuck:
    """The share of far images, and that of those which lie below the others.

    Of each image, in their order: `stray` is the probability that it does not lie near, be it by
    luck or because its boots went wrong.
    """

    share: FarShare
    below: float
    stray: Floats


def prior_share() -> FarShare:
    """What is believed of a testbed that was never seen."""
    return FarShare(mean=constants.FAR_SHARE, weight=constants.TESTBED_FAR_WEIGHT)


def learn_luck(
    images: Sequence[PlacedImage], sigma_run: float, sigma_build: float, df_build: float
) -> ImageLuck:
    """Learn the share from a history's images, ordered by position; never raises."""
    prior = prior_share()
    seen = _densities(images, sigma_run, sigma_build, df_build)
    weight, share = prior.weight + int(seen.counted.sum()), prior.mean
    far = np.zeros(0)
    for _ in range(_ROUNDS):
        far = seen.probability_far(share)
        share = (prior.mean * prior.weight + float(far.sum())) / weight
    below = (prior.mean / 2 * prior.weight + float(far[seen.is_below].sum())) / weight
    return ImageLuck(
        share=FarShare(mean=share, weight=weight), below=below, stray=seen.stray(share)
    )


def strays(
    images: Sequence[PlacedImage],
    sigma_run: float,
    sigma_build: float,
    df_build: float,
    share: float,
) -> Floats:
    """The `stray` of ImageLuck, where the share of far images is known."""
    return _densities(images, sigma_run, sigma_build, df_build).stray(share)


def near_density(deviation: Floats, variance: Floats, sigma_build: float | Floats) -> Floats:
    """The density of a deviation of an image that is near: N(d; 0, sigma_build² + variance)."""
    total = sigma_build**2 + variance
    return np.asarray(np.exp(-0.5 * deviation**2 / total) / np.sqrt(2 * math.pi * total))


def broad_density(
    deviation: Floats, variance: Floats, span: float | Floats | None = None
) -> Floats:
    """The same of a far image: [U(-W/2, W/2) * N(0, variance)](d), a convolution.

    W is FAR_SPAN, or `span`; `variance` is what boots add.
    """
    width = constants.FAR_SPAN if span is None else span
    sd = np.sqrt(variance)
    inside = ndtr((deviation + width / 2) / sd) - ndtr((deviation - width / 2) / sd)
    return np.asarray(inside / width)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Densities:
    """How densely the counted images lie where they do, if near, if far, if boots went wrong.

    `counted` are those of all images whose luck can be separated from a change.
    """

    counted: NDArray[np.bool_]
    is_below: NDArray[np.bool_]
    near: Floats
    broad: Floats
    wrong: Floats

    def probability_far(self, share: float) -> Floats:
        """P of the module's text. Where nothing explains an image, it is not far either."""
        far = share * self.broad
        every = far + (1 - share) * self.near + self.wrong
        return np.asarray(far / np.maximum(every, np.finfo(float).tiny))

    def stray(self, share: float) -> Floats:
        """The probability not to be near, of all images; 0 of those that are not counted."""
        near = (1 - share) * self.near
        every = share * self.broad + near + self.wrong
        found = np.zeros(len(self.counted))
        found[self.counted] = 1 - near / np.maximum(every, np.finfo(float).tiny)
        return found


def _densities(
    images: Sequence[PlacedImage], sigma_run: float, sigma_build: float, df_build: float
) -> _Densities:
    distance, sd = _deviations(images, sigma_run, sigma_build)
    counted = np.isfinite(distance)
    distance, sd = distance[counted], sd[counted]
    within = np.abs(distance) <= constants.FAR_SPAN / 2
    return _Densities(
        counted=counted,
        is_below=distance < 0,
        near=_student(distance / sd, df_build) / sd,
        broad=np.where(within, 1 / constants.FAR_SPAN, 0.0),
        wrong=outlier_density([image.logs.size for image in images])[counted],
    )


def _student(x: Floats, df: float) -> Floats:
    """The density of Student's t: scipy.stats has it, and takes half a second to import."""
    peak = math.log(poch(df / 2, 0.5)) - math.log(df * math.pi) / 2
    return np.exp(peak - (df + 1) / 2 * np.log1p(x * x / df))


def _deviations(
    images: Sequence[PlacedImage], sigma_run: float, sigma_build: float
) -> tuple[Floats, Floats]:
    """Of each image the least distance from what its code shows elsewhere, and its own noise.

    NaN where nothing follows that would tell luck from a change.
    """
    levels = np.array([robust_level(image.logs.tolist(), sigma_run) for image in images])
    own = sigma_build**2 + sigma_run**2 / np.array([image.logs.size for image in images])
    at: dict[int, list[int]] = {}
    for number, image in enumerate(images):
        at.setdefault(image.position, []).append(number)
    groups = list(at.values())
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    middles = np.array((levels, own))
    if len(groups) < len(images):
        middles = np.array([[median(of[group].tolist()) for group in groups] for of in middles])
    views = np.full((2, 3, len(images)), np.nan)  # level and variance: before, after, beside
    views[:, 0] = _before(middles)[:, group_of]
    views[:, 1] = _before(middles[:, ::-1])[:, ::-1][:, group_of]
    for group in groups:
        for number in group if len(group) > 1 else ():
            others = [other for other in group if other != number]
            variance_of = _of_median(np.array(median(own[others].tolist())), np.array(len(others)))
            views[:, 2, number] = median(levels[others].tolist()), variance_of
    distance, variance = levels - views[0], own + views[1]
    is_known = ~np.isnan(distance)
    score = np.where(is_known, np.abs(distance), np.inf) / np.sqrt(np.where(is_known, variance, 1))
    best = np.argmin(score, axis=0), np.arange(len(images))
    counted = is_known.sum(axis=0) > 1
    return np.where(counted, distance[best], np.nan), np.where(counted, np.sqrt(variance[best]), 1)


def _before(middles: Floats) -> Floats:
    """The median of up to _REACH levels before each, and its variance; NaN without any."""
    length = middles.shape[1]
    found = np.full((2, length), np.nan)
    for place in range(1, min(_REACH, length)):
        found[:, place] = [median(of[:place].tolist()) for of in middles]
    if length > _REACH:
        windows = np.sort(sliding_window_view(middles[:, :-1], _REACH, axis=1))
        found[:, _REACH:] = windows[:, :, _REACH // 2]
    found[1] = _of_median(found[1], np.clip(np.arange(length), 1, _REACH))
    return found


def _of_median(variance: Floats, levels: NDArray[np.int64]) -> Floats:
    """The variance of the median of so many levels, where theirs have the median `variance`."""
    return variance * np.where(levels < _ROBUST_BOOTS, 1.0, _MEDIAN) / levels


def outlier_density(boots: Sequence[int]) -> Floats:
    """How densely a level lies anywhere because a boot went wrong: o(n) of the module's text."""
    number = np.array(boots, dtype=float)
    density = number * constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
    return np.where(number < _ROBUST_BOOTS, density, 0.0)
