"""The noise of a testbed and workload, its prior, and robust estimates of it from boots.

The model is ln(value) = level + b(image) + e(boot), with e ~ N(0, sigma_run²) and, for most images,
b ~ N(0, sigma_build²); a share `far_share` of the images lies far off (see `image_luck`). In
logarithms a spread is a fraction of the level, for any unit.

- sigma_run from all pairs of boots of one image: ln y1 - ln y2 has variance 2·sigma_run².
- sigma_build from images next to each other in history (or of one position): the difference of
  their levels over n1 and n2 boots has variance 2·sigma_build² + sigma_run²·(1/n1 + 1/n2).

Outliers among these differences are boots that went wrong and changes of level. The scale is
therefore Huber's: P. J. Huber, *Robust Statistics* (1981), 5.2, "proposal 2".

The spread of a position's m images is s² = Σ(level - mean)²/(m - 1). It counts where it is plainly
larger than build noise and boots explain; of several positions the widest counts, so that relinked
kernels that agree do not dilute a far one.

Differences of neighbouring images give the build noise; Huber's scale takes a change of level
 for an outlier. A step marked as noise is none: with d the difference of the levels next to
it, over n1 and n2 boots,

    e = max(d² - sigma_run²·(1/n1 + 1/n2), 0) / 2

is an estimate of sigma_build² with one degree of freedom. k of them, pooled with the learnt noise,
give

    sigma² = (nu·sigma_build² + e1 + ... + ek) / (nu + k),

or sigma_build² if that is more. The degrees of freedom stay, since marks are chosen for their size.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby, pairwise
from statistics import fmean, median, stdev

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from buildbot_bench.core.model import constants
from buildbot_bench.core.sample import NoiseClass, Sample

MIN_SIGMA = 1e-6  # what no measurement undercuts: counters have six digits or so


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """What is assumed of a testbed that was never seen.

    `sigma_run` and `sigma_build` are fractions of the level. They pull an estimate as `weight`
    observations would; `tail_df` are the degrees of freedom that they have by themselves: how
    sure it is that an unknown testbed resembles the known ones.
    """

    sigma_run: float
    sigma_build: float
    weight: float = field(default_factory=lambda: constants.PRIOR_WEIGHT)
    tail_df: float = field(default_factory=lambda: constants.PRIOR_DF)


def archive() -> Prior:
    """What the netbenches archive says of a testbed that was never seen."""
    return Prior(sigma_run=constants.RUN_NOISE, sigma_build=constants.BUILD_NOISE)


def counted() -> Prior:
    """What is assumed of a metric that is counted."""
    return Prior(sigma_run=constants.COUNTED_NOISE, sigma_build=MIN_SIGMA)


ARCHIVE = archive()


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The noise of one testbed and workload; sigmas are fractions of the level.

    `df_run` and `df_build` say how well the sigmas are known, as degrees of freedom of a
    variance. `far_below` is the part of `far_share` that lies below the others; `far_weight` says
    how well both are known, as a number of images (the Beta of `image_luck`). `modes_apart` is how
    far two modes of boots lie apart, both of which sigma_run holds; None when boots have one mode.
    `resolution` is the step to which values are rounded, where that matters (0: it does not);
    `rounding` is the part of `sigma_build` that it makes: a bias that boots do not average out.
    `saturated`: the line rate limits what is measured. `assumed` says, a sentence each, what was
    assumed for want of history.
    """

    sigma_run: float
    sigma_build: float
    df_run: float
    df_build: float
    far_share: float = field(default_factory=lambda: constants.FAR_SHARE)
    far_below: float = field(default_factory=lambda: constants.FAR_SHARE / 2)
    far_weight: float = field(default_factory=lambda: constants.TESTBED_FAR_WEIGHT)
    modes_apart: float | None = None
    saturated: bool = False
    resolution: float = 0.0
    rounding: float = 0.0
    assumed: tuple[str, ...] = ()


def wider_build(sigma_build: float, sigma_run: float) -> float:
    """Return the build noise where the assumed `sigma_build` is too small (with WIDER_WEIGHT)."""
    return max(constants.BUILD_WIDER * sigma_build, sigma_run)


KNOWN_DF = 1e12
"""The degrees of freedom of what is taken for known. With few, thousands of standard deviations
weigh no more than dozens."""


Floats = NDArray[np.float64]

_CLIP = 1.0  # where Huber's scale clips, in standard deviations: level changes are not rare
_CLIPPED_VARIANCE = 0.5160585  # E[min(Z², 1)] of a standard normal Z
_NEIGHBOURS = 2  # images: the fewest that have a difference
_FAR = 3.0  # run sigmas: a boot further from its image's median is counted as that far
_NORMAL_MAD = 1.4826  # sigmas of a normal in its median absolute deviation: 1 / ndtri(0.75)
_PLAINLY = 2.5  # five normal boots lie as far apart once in 300 images
_EXACT = 1e-15  # how exactly the scale is solved for, as a part of the largest difference
_NEAR_A_STEP = 2.0  # steps: what rounding makes of small noise is less, a boot gone wrong more
_SHARED = 2 / 3  # neighbouring differences share an image: worth of each (von Neumann 1941)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """An estimated standard deviation of logarithms, and its degrees of freedom (0: none)."""

    sigma: float = 0.0
    df: float = 0.0


def robust_level(logs: Sequence[float], sigma_run: float) -> float:
    """The mean of an image's boots, after those far from the median were drawn in (winsorized)."""
    if len(logs) == 1:
        return logs[0]
    middle, reach = median(logs), _FAR * sigma_run
    return middle + fmean([min(max(log - middle, -reach), reach) for log in logs])


def spread_of_boots(logs: Sequence[float], sigma_run: float) -> float:
    """The standard deviation to count with for one image's boots.

    It is sigma_run, unless this image's boots lie plainly further apart: several of them went
    wrong, or have two modes, and their median means little. (1.48 MAD is a normal's deviation.)
    """
    if len(logs) == 1:
        return sigma_run
    middle = median(logs)
    own = _NORMAL_MAD * median(abs(log - middle) for log in logs)
    return own if own > _PLAINLY * sigma_run else sigma_run


def run_spread(images: Sequence[Floats], *, bimodal: bool, step: float = 0.0) -> Spread:
    """The spread between boots of one image; all of it, both modes included, when bimodal.

    `step` is what values are rounded to, in ln.
    """
    pairs = [(a - b) / math.sqrt(2) for logs in images for a, b in combinations(logs.tolist(), 2)]
    if not pairs:
        return Spread()
    df = float(sum(logs.size - 1 for logs in images))
    if bimodal:
        return Spread(sigma=float(np.sqrt(np.mean(np.square(pairs)))), df=df)
    return Spread(sigma=_rounded_scale(np.array(pairs), step), df=df)


def bounded_run_spread(run: Spread, images: Sequence[Floats], step: float = 0.0) -> Spread:
    """Boots of one image vary by no more than neighbouring images do: then both tell the same.

    They are joined as a geometric mean, in which a few odd boots weigh little. `step` is what
    values are rounded to, in ln.
    """
    if not run.df or len(images) < _NEIGHBOURS:
        return run
    steps = np.diff([robust_level(logs.tolist(), run.sigma) for logs in images])
    scaled = steps / np.sqrt([1 / a.size + 1 / b.size for a, b in pairwise(images)])
    bound, df = _rounded_scale(scaled, step), len(steps) * _SHARED
    if bound >= run.sigma:
        return run
    sigma = bound * (run.sigma / max(bound, MIN_SIGMA)) ** (run.df / (run.df + df))
    return Spread(sigma=sigma, df=run.df + df)


def build_spread(images: Sequence[Floats], sigma_run: float) -> Spread:
    """The spread between neighbouring images beyond what their boots explain.

    Where boots explain nearly all of it, a build noise below the standard error of the variance,
    v·√(2/df), would have been overlooked: it is assumed to be that, but no more than run noise.
    """
    if len(images) < _NEIGHBOURS:
        return Spread()
    steps = np.diff([robust_level(logs.tolist(), sigma_run) for logs in images])
    explained = np.array([sigma_run**2 * (1 / a.size + 1 / b.size) for a, b in pairwise(images)])
    variance, df = _huber_scale(steps, explained, 2.0) ** 2, len(steps) * _SHARED
    boots = float(np.median(explained)) / 2
    overlooked = min((variance + boots) * math.sqrt(2 / df), boots)
    return Spread(sigma=math.sqrt(max(variance, overlooked)), df=df)


def _rounded_scale(differences: Floats, step: float) -> float:
    """Huber's scale; where half of the differences are 0 by rounding, that of those near a step."""
    near = np.minimum(np.abs(differences), _NEAR_A_STEP * step)
    scale = _huber_scale(differences, np.zeros_like(differences), 1.0)
    return max(scale, float(np.sqrt(np.mean(near**2))))


def _huber_scale(differences: Floats, explained: Floats, factor: float) -> float:
    """Solve mean(min(d²/(factor·s² + explained), c²)) = E[min(Z², c²)] for s."""
    squares = differences**2

    def excess(scale: float) -> float:
        variance = np.maximum(factor * scale**2 + explained, MIN_SIGMA**2)
        return float(np.mean(np.minimum(squares / variance, _CLIP**2))) - _CLIPPED_VARIANCE

    if excess(0.0) <= 0:
        return 0.0
    high = float(np.abs(differences).max()) * 2 + MIN_SIGMA
    return float(optimize.brentq(excess, 0.0, high, xtol=_EXACT * high))


_FEWEST = 2  # images of a position: the fewest that have a spread


def spread_of_images(samples: Iterable[Sample], noise: Noise) -> float:
    """The standard deviation to count with between images of unchanged code, as a fraction.

    It is that of `noise`, learnt from history, unless images of one and the same revision lie
    plainly further apart: then there is a layout of which history has no example.
    """
    levels: list[tuple[int, float, int]] = []
    for sample in samples:
        if logs := [math.log(value) for value in sample.values if value > 0]:
            level = robust_level(logs, noise.sigma_run)
            levels.append((sample.position, level, len(logs)))
    widest = noise.sigma_build
    for _, group in groupby(sorted(levels), key=lambda level: level[0]):
        here = list(group)
        if len(here) < _FEWEST:
            continue
        own = stdev(level for _, level, _ in here)
        boots = min(boots for _, _, boots in here)
        explained = math.hypot(noise.sigma_build, noise.sigma_run / math.sqrt(boots))
        if own > _PLAINLY * explained:
            widest = max(widest, own)
    return widest


_NEAREST = 3  # revisions of each side; of two nobody knows which one is an outlier


def with_marked_noise(
    noise: Noise, history: Sequence[Sample], places: Iterable[tuple[int, int]]
) -> Noise:
    """The noise of a series, given the steps of it that a person says are noise.

    `places` are pairs of the first position behind a step that may be at its new level and the
    first that surely is. The same noise where there is none, where a side has no boots, and of a
    metric that is counted: images of one code count alike, under any mark. `history` is what
    the noise was learnt from.
    """
    chosen = sorted(set(places))
    if not chosen or any(sample.metric.noise is NoiseClass.EXACT for sample in history):
        return noise
    boots = _boots(history)
    found = [
        excess
        for began, judged in chosen
        if (excess := _excess(boots, began, judged, noise.sigma_run)) is not None
    ]
    pooled = (noise.df_build * noise.sigma_build**2 + sum(found)) / (noise.df_build + len(found))
    if pooled <= noise.sigma_build**2:
        return noise
    return replace(noise, sigma_build=math.sqrt(pooled))


def _boots(history: Sequence[Sample]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for sample in sorted(history, key=lambda sample: (sample.position, sample.image)):
        logs = [math.log(value) for value in sample.values if 0 < value < math.inf]
        if logs:
            found.setdefault(sample.position, []).extend(logs)
    return found


def _excess(
    boots: dict[int, list[float]], began: int, judged: int, sigma_run: float
) -> float | None:
    """The e of a step; None where one of its sides was not measured."""
    older = [logs for position, logs in boots.items() if position < began][-_NEAREST:]
    newer = [logs for position, logs in boots.items() if position >= judged][:_NEAREST]
    if not older or not newer:
        return None
    (before, of_before), (after, of_after) = (_level(side, sigma_run) for side in (older, newer))
    explained = sigma_run**2 * (1 / of_before + 1 / of_after)
    return max((after - before) ** 2 - explained, 0.0) / 2


def _level(side: Sequence[Sequence[float]], sigma_run: float) -> tuple[float, int]:
    """The level of the middle one of some revisions, and how many boots it has."""
    levels = sorted((robust_level(logs, sigma_run), len(logs)) for logs in side)
    return levels[len(levels) // 2]
