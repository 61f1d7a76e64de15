"""Images as the judge uses them, and the Bayes factor (an e-value) of one change in a row of them.

An image's level is that of its code plus build noise plus the mean of its boots' noise
(core.model), so its weight is w = 1 / (sigma_build² + sigma_run²/boots). For each place of a
change, D is the weighted mean after it minus that before it, V = 1/W_after + 1/W_before its
variance, z = D/√V. The Bayes factor of "D has a further variance tau²" against "D is noise", with
the noise's scale known to nu degrees of freedom (M. Gönen et al., *The Bayesian two-sample t test*,
The American Statistician 59, 2005), is, with g = tau²/V,

    B = (1+g)^-½ · [(1 + z²/nu) / (1 + z²/(nu·(1+g)))]^((nu+1)/2)

averaged over a small, a usual and a large tau. Its mean is 1 when nothing changed, so it is an
e-value. The sum over all places is the Shiryaev-Roberts statistic: compared with A at every commit
it alarms falsely at most once in A commits (J. Shin, A. Ramdas, A. Rinaldo, *E-detectors*, 2023).

T. Mytkowicz et al., *Producing Wrong Data Without Doing Anything Obviously Wrong!*, ASPLOS 2009,
measured how much the order of linking does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from buildbot_bench.core.contrast.denial import image_votes
from buildbot_bench.core.figures import percent
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import Noise, robust_level, spread_of_boots
from buildbot_bench.core.model.thresholds import change_in_logs, expected_sizes
from buildbot_bench.core.sample import Sample

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]

_SMALLER = 2.576  # standard errors: a change is small only if 99 % sure to be below min_effect


@dataclass(frozen=True, kw_only=True, slots=True)
class Boot:
    """One usable iteration: the logarithm of its value, and when it was measured.

    `screening` is the first boot of a position's first image, the one that raises suspicions.
    """

    log: float
    at_s: float
    screening: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """One build of one revision: its boots, their level and its variance (of logarithms)."""

    position: int
    image: int
    boots: tuple[Boot, ...]
    level: float
    variance: float


def images_of(samples: Sequence[Sample], sigma_run: float) -> tuple[Image, ...]:
    """The images that have a positive value, in the order of position and build.

    Samples of one image are put together.
    """
    merged: dict[tuple[int, int], list[Boot]] = {}
    screened: set[int] = set()
    for sample in sorted(samples, key=lambda sample: (sample.position, sample.image)):
        boots = merged.setdefault((sample.position, sample.image), [])
        for iteration in sample.iterations:
            if iteration.value is not None and 0 < iteration.value < math.inf:
                screening = sample.position not in screened
                screened.add(sample.position)
                log = math.log(iteration.value)
                boots.append(Boot(log=log, at_s=iteration.at_s, screening=screening))
    return tuple(
        _image(position, image, boots, sigma_run)
        for (position, image), boots in merged.items()
        if boots
    )


def _image(position: int, image: int, boots: Sequence[Boot], sigma_run: float) -> Image:
    logs = [boot.log for boot in boots]
    return Image(
        position=position,
        image=image,
        boots=tuple(boots),
        level=robust_level(logs, sigma_run),
        variance=spread_of_boots(logs, sigma_run) ** 2 / len(logs),
    )


def fresh_boots(image: Image, since_s: float) -> tuple[float, ...]:
    """The logarithms of the boots measured after `since_s`.

    Without clock times (all 0) those after the first of a position are taken for fresh.
    """
    if since_s == 0:
        return tuple(boot.log for boot in image.boots if not boot.screening)
    return tuple(boot.log for boot in image.boots if boot.at_s > since_s)


def screened_at_s(images: Sequence[Image]) -> float:
    """When the first of their boots was measured."""
    return min(boot.at_s for image in images for boot in image.boots)


_FEWEST = 2  # further images; one of them may have a luck of its own
_SURE = 2.0  # standard errors


def is_layout(new: Sequence[Image], old_level: float) -> bool:
    """Whether as many images of a revision deny what its first one shows as show it.

    `old_level` is the level (of logarithms) before the revision.
    """
    images = ((image.level, math.sqrt(image.variance)) for image in new)
    return image_votes(images, level=new[0].level, other=old_level).contradicted


def is_sure_layout(new: Sequence[Image], old_level: float, sigma_build: float) -> bool:
    """Whether still further images, linked in other orders, would hardly show that half."""
    first, *further = (image.level - old_level for image in new)
    variance = sum(sigma_build**2 + image.variance for image in new[1:]) / max(len(further), 1) ** 2
    highest = math.copysign(1.0, first) * fmean(further or [first]) + _SURE * math.sqrt(variance)
    return len(further) >= _FEWEST and highest < abs(first) / 2


def in_words(new: Sequence[Image], old_level: float) -> str:
    """A sentence for a reader, when it is layout."""
    first, *further = (math.expm1(image.level - old_level) for image in new)
    others = ", ".join(map(percent, further))
    return (
        f"{percent(first)} is the layout of one image, not the code. "
        f"In another link order it is {others}"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits:
    """Places where the level may have changed; arrays of one shape.

    `place` is the number of the first position at the new level. `difference` and `variance` are
    D and V, `df` is nu, `log_evidence` ln B, or -inf where the change is certainly below
    min_effect; `build_variance` is what V would be with endless boots.
    """

    place: Indexes
    difference: Floats
    variance: Floats
    build_variance: Floats
    df: Floats
    log_evidence: Floats

    def alike_sure(self, min_effect: float) -> Floats:
        """The evidence where all places know their noise equally well, by which they compare.

        Far out, ln B is (nu + 1)/2 times a logarithm: a change of many standard errors would seem
        to have come where nu is largest, be its D half of what it is at the true place.
        """
        df = np.min(self.df, axis=-1, keepdims=True)
        alike = log_bayes_factor(self.difference, self.variance, df, min_effect)
        return np.where(np.isneginf(self.log_evidence), -np.inf, alike)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Image levels in the order of history, as cumulative sums of w, w·level and w².

    Positions are counted from 0: the images of the k-th are edges[k]..edges[k+1].
    """

    edges: Indexes
    weight: Floats
    moment: Floats
    square: Floats
    noise: Noise
    min_effect: float

    @property
    def length(self) -> int:
        """How many positions there are."""
        return len(self.edges) - 1

    def index(self, position: int) -> int:
        """The number of a position's first image."""
        return int(self.edges[position])

    def places(self, start: int, end: Indexes) -> tuple[Indexes, Indexes]:
        """The span before each of `end` that is looked at, and where it may be split.

        The first array is the beginning of the span, of the shape of `end`; the second has a
        further axis: the last constants.RECENT positions, with 0 for those that leave no older one.
        """
        begin = np.maximum(start, end - constants.MEMORY)
        place = end[..., None] - 1 - np.arange(constants.RECENT)
        return begin, np.where(place > begin[..., None], place, 0)

    def split(self, begin: Indexes, place: Indexes, end: Indexes) -> Splits:
        """Split positions[begin:end] before `place`; arrays are broadcast."""
        first, cut, last = self.edges[begin], self.edges[place], self.edges[end]
        before = self.weight[cut] - self.weight[first]
        after = self.weight[last] - self.weight[cut]
        difference = (self.moment[last] - self.moment[cut]) / after - (
            self.moment[cut] - self.moment[first]
        ) / before
        variance = 1 / before + 1 / after
        build = self.noise.sigma_build**2 * (
            (self.square[cut] - self.square[first]) / before**2
            + (self.square[last] - self.square[cut]) / after**2
        )
        share = np.minimum(build / variance, 1.0)
        df = 1 / (share**2 / self.noise.df_build + (1 - share) ** 2 / self.noise.df_run)
        evidence = log_bayes_factor(difference, variance, df, self.min_effect)
        reach = np.abs(difference) + _SMALLER * np.sqrt(variance)
        return Splits(
            place=place,
            difference=difference,
            variance=variance,
            build_variance=build,
            df=df,
            log_evidence=np.where(reach < change_in_logs(self.min_effect), -np.inf, evidence),
        )

    def log_totals(self, start: int) -> Floats:
        """The evidence for a change since `start` as it stood after 0, 1, 2, ... positions."""
        end = np.arange(self.length + 1)
        begin, place = self.places(start, end)
        known = place > 0
        totals = np.full(place.shape, -np.inf)
        begins, ends = (np.broadcast_to(x[:, None], place.shape)[known] for x in (begin, end))
        totals[known] = self.split(begins, place[known], ends).log_evidence
        return np.asarray(np.logaddexp.reduce(totals, axis=1))


def row(images: Sequence[Image], noise: Noise, min_effect: float) -> Row:
    """Sum up the levels of images that are in the order of their positions."""
    positions = np.array([image.position for image in images])
    levels = np.array([image.level for image in images])
    weight = 1 / (noise.sigma_build**2 + np.array([image.variance for image in images]))
    return Row(
        edges=np.concatenate(([0], np.flatnonzero(np.diff(positions)) + 1, [len(images)])),
        weight=_cumulated(weight),
        moment=_cumulated(weight * (levels - levels[0])),
        square=_cumulated(weight**2),
        noise=noise,
        min_effect=min_effect,
    )


def log_bayes_factor(difference: Floats, variance: Floats, df: Floats, min_effect: float) -> Floats:
    """The logarithm of B of the module's text, averaged over the scales of effect."""
    square = difference**2 / variance
    terms = []
    for size in expected_sizes(min_effect):
        g = size**2 / variance
        ratio = np.log1p(square / df) - np.log1p(square / (df * (1 + g)))
        terms.append((df + 1) / 2 * ratio - np.log1p(g) / 2)
    return np.asarray(np.logaddexp.reduce(terms, axis=0) - math.log(len(terms)))


def _cumulated(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))
