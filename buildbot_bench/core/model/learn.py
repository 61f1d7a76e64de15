"""The noise that a testbed and workload are learnt to have, with two modes and with rounding.

The model is e(boot) ~ (1 - q)·N(0, s²) + q·N(delta, s²), with delta far beyond s. An image shows
two modes when the largest gap between its sorted boots leaves two boots or more on each side, and

    mean(high) - mean(low) > max(MODES_APART · s, LEAST_MODES),     s² the sides' pooled variance

(the cut of least variance: N. Otsu, IEEE Trans. Systems, Man and Cybernetics 9, 1979). A testbed
has two modes when IMAGES_WITH_MODES of its images with enough boots show them; delta is the median
of the gaps.

The estimates of `noise` are shrunk to the prior's sigma0 in logarithms, as by w observations: with
s known to nu degrees of freedom,

    ln sigma = (nu · ln s + w · ln sigma0) / (nu + w)

(a conjugate prior of ln sigma with a normal likelihood; the variance of ln s is 1/(2·nu)), known to
nu + PRIOR_DF degrees of freedom. Far images (`image_luck`) are left out of the build noise.

Rounding x = level + e, e ~ N(0, s²), to whole steps d adds d²/12 to the variance of a reading. Part
of it is a bias of the level that further readings do not average out: over all places of the level
within a step, with Fourier's coefficients of the sawtooth (B. Widrow, I. Kollár, *Quantization
Noise* (2008), 4.2), its variance is

    b² = Σ_k d²/(2·π²·k²) · exp(-4·π²·k²·s²/d²),     k = 1, 2, …

which is d²/12 where s is far below d, and nothing from half a step on.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import chdtri

from buildbot_bench.core.figures import size, threshold
from buildbot_bench.core.metric import Metric, NoiseClass, is_coarse
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.image_luck import ImageLuck, PlacedImage, learn_luck
from buildbot_bench.core.model.noise import (
    KNOWN_DF,
    MIN_SIGMA,
    Floats,
    Noise,
    Prior,
    Spread,
    archive,
    bounded_run_spread,
    build_spread,
    counted,
    run_spread,
)
from buildbot_bench.core.sample import Sample

_MIN_BOOTS = 4  # of an image, two in each mode
_FEWEST_IMAGES = 2  # with both modes; chosen: one alone may have had two odd boots


def _modes_apart(images: Sequence[Floats]) -> float | None:
    """How far two modes lie apart: in many images a gap dwarfs the spread on both of its sides."""
    candidates = [np.sort(logs) for logs in images if logs.size >= _MIN_BOOTS]
    parts = [sides for logs in candidates if (sides := _sides(logs)) is not None]
    if len(parts) < _FEWEST_IMAGES or len(parts) < constants.IMAGES_WITH_MODES * len(candidates):
        return None
    gaps = [float(high.mean() - low.mean()) for low, high in parts]
    return math.expm1(float(np.median(gaps)))


def _sides(ordered: Floats) -> tuple[Floats, Floats] | None:
    """The two sides of the largest gap, if both have two boots or more and lie far apart."""
    cut = int(np.argmax(np.diff(ordered))) + 1
    low, high = ordered[:cut], ordered[cut:]
    if min(low.size, high.size) < _MIN_BOOTS // 2:
        return None
    within = math.sqrt((low.var() * low.size + high.var() * high.size) / (ordered.size - 2))
    apart = float(high.mean() - low.mean()) > max(
        constants.MODES_APART * within, constants.LEAST_MODES
    )
    return (low, high) if apart else None


_SATURATED_DF = 2  # chosen: three boots of one image that repeat are no accident, two may be
_TURNS = 3  # of build noise and far images, each given the other
_EVEN = 0.5  # the probability above which an image is left out of the build noise
_LEFT = 2  # boots: the fewest that have a spread
# Degrees of freedom; below these the answer says that noise was assumed. Chosen: as many as the
# prior has by itself (Prior.tail_df), and somewhat fewer of builds, which are dear.
_ENOUGH_RUN_DF = 8
_ENOUGH_BUILD_DF = 6
_MISSED = 0.05  # how often counts scatter more than their upper limit says
_ENOUGH_COUNTED_DF = 2  # counts scatter little, or not at all: three boots tell which


def learn(history: Sequence[Sample], *, prior: Prior | None = None) -> Noise:
    """Learn the noise from samples of one testbed, workload and epoch, in any order.

    The more of them the better. `prior` is the archive's unless another is given; of a metric that
    is counted, that of counts. Level changes among them do little harm (see `noise`). Never
    raises: without history the prior is returned, and `assumed` says so. Values that are not
    positive are passed over.
    """
    prior = prior or archive()
    ordered = sorted(history, key=lambda sample: (sample.position, sample.image))
    known = [(sample, logs) for sample in ordered if (logs := _logs(sample)).size]
    boots = [_unselected(sample, logs) for sample, logs in known]
    if any(sample.metric.noise is NoiseClass.EXACT for sample in history):
        return _of_counts(run_spread(boots, bimodal=False))
    placed = [PlacedImage(position=sample.position, logs=logs) for sample, logs in known]
    images = [image.logs for image in placed]
    apart = _modes_apart(images)
    told = max((sample.resolution for sample in ordered), default=0.0)
    step = resolution((value for sample in ordered for value in sample.values), told)
    spread = run_spread(boots, bimodal=apart is not None, step=step)
    run = bounded_run_spread(spread, images, step)
    sigma_run = max(_blend(run, prior.sigma_run, prior.weight), rounding_noise(step))
    build, luck = _between_images(placed, sigma_run, prior)
    learnt = Noise(
        sigma_run=sigma_run,
        sigma_build=_blend(build, prior.sigma_build, prior.weight),
        df_run=run.df + prior.tail_df,
        df_build=build.df + prior.tail_df,
        far_share=luck.share.mean,
        far_below=luck.below,
        far_weight=luck.share.weight,
        modes_apart=apart,
        saturated=run.df >= _SATURATED_DF and run.sigma < constants.SATURATED_NOISE,
        assumed=tuple(_assumptions(run, build, prior)),
    )
    return with_rounding(learnt, step)


def _between_images(
    images: Sequence[PlacedImage], sigma_run: float, prior: Prior
) -> tuple[Spread, ImageLuck]:
    """The build noise of those images that do not lie far off, and how many do.

    Each depends on the other, so both are estimated in turns.
    """
    near = list(images)
    for _ in range(_TURNS):
        build = build_spread([image.logs for image in near], sigma_run)
        sigma_build = _blend(build, prior.sigma_build, prior.weight)
        luck = learn_luck(images, sigma_run, sigma_build, build.df + prior.tail_df)
        kept = [image for image, off in zip(images, luck.stray, strict=True) if off < _EVEN]
        if len(kept) == len(near):
            break
        near = kept
    return build, luck


def _of_counts(run: Spread) -> Noise:
    """Of a counted metric: its boots show the run noise, and images of one code count alike.

    What neighbouring kernels differ by is what their commits did, be it ever so little: hundreds
    of run noises, which are to tell the places of steps apart. So the noise's upper limit is taken
    for known.
    """
    prior = counted()
    df = run.df + prior.tail_df
    upper = math.sqrt(df / float(chdtri(df, 1 - _MISSED)))
    return Noise(
        sigma_run=upper * _blend(run, prior.sigma_run, prior.weight),
        sigma_build=prior.sigma_build,
        df_run=KNOWN_DF,
        df_build=KNOWN_DF,
        far_share=0.0,
        far_below=0.0,
        far_weight=KNOWN_DF,
        assumed=(_assumed_of_boots(prior),) if run.df < _ENOUGH_COUNTED_DF else (),
    )


def is_build_noise_learnt(noise: Noise) -> bool:
    """Whether history tells how far images of unchanged code vary, or it is assumed."""
    return noise.df_build - constants.PRIOR_DF >= _ENOUGH_BUILD_DF


def auto_iterations(noise: Noise, *, fresh: int = 5) -> int:
    """How many boots a new kernel gets under `iterations: auto`.

    One where history tells the noise; else as many as a report's t-test needs, which teach it.
    """
    return fresh if noise.assumed or noise.modes_apart is not None else 1


def _logs(sample: Sample) -> Floats:
    return np.log([value for value in sample.values if value > 0 and math.isfinite(value)])


def _unselected(sample: Sample, logs: Floats) -> Floats:
    """The boots without the first, which may be why there are more of them, if two are left."""
    times = [i.at_s for i in sample.iterations if i.value is not None]
    if logs.size < _LEFT + 1 or len(times) != logs.size or min(times) == max(times):
        return logs
    return np.delete(logs, int(np.argmin(times)))


def _blend(estimate: Spread, assumed: float, weight: float) -> float:
    """The geometric mean of estimate and prior, weighted by how much stands behind each."""
    ratio = max(estimate.sigma, MIN_SIGMA) / assumed
    return float(assumed * ratio ** (estimate.df / (estimate.df + weight)))


def _assumptions(run: Spread, build: Spread, prior: Prior) -> list[str]:
    texts = []
    if run.df < _ENOUGH_RUN_DF:
        texts.append(_assumed_of_boots(prior))
    if build.df < _ENOUGH_BUILD_DF:
        texts.append(f"images of unchanged code vary by about {size(prior.sigma_build)}")
    return texts


def _assumed_of_boots(prior: Prior) -> str:
    return f"boots of one image vary by about {100 * prior.sigma_run:.2g} %"


_ROUNDED = 1e-6  # of the range of values: differences of floats are whole multiples to that
_CONTINUOUS = 100  # of that: what has no more common steps was not rounded
_TIES = 3  # values: where two are all there are, their difference says nothing of a step
_NOTHING = 1e-6  # of the run noise: it falls off as exp(-(sigma/step)^2), to what has no square
_NEGLIGIBLE = 0.1  # run noises: rounding as fine adds a thousandth of the variance
_HARMONICS: Floats = np.arange(1.0, 20.0)


def resolution(values: Iterable[float], stated: float = 0.0) -> float:
    """Return the step to which `values` are rounded, as a fraction of their median.

    It is `stated` in the values' unit, or the largest of which all their differences are multiples;
    0 where nothing tells: while all values are equal, or two are all there are. Of values that were
    not rounded it is 0, too. Those not above 0 are passed over.
    """
    known = [value for value in values if 0 < value < math.inf]
    if stated and known:
        return stated / float(np.median(known))
    first, *others = sorted(set(known)) or [0.0]
    if not others or len(known) < _TIES:
        return 0.0
    least = _ROUNDED * (others[-1] - first)
    step = 0.0
    for value in others:
        step = _common(value - first, step, least)
        if step < _CONTINUOUS * least:
            return 0.0
    return step / float(np.median(known))


def _common(longer: float, shorter: float, least: float) -> float:
    """Return the largest common divisor to within `least` (Euclid)."""
    while shorter > least:
        rest = math.fmod(longer, shorter)
        longer, shorter = shorter, 0.0 if shorter - rest <= least else rest
    return longer


def rounding_words(
    metric: Metric, values: Iterable[float], stated: float, min_effect: float
) -> str:
    """Return a sentence where `values` are rounded to steps that may hide `min_effect`; else ''.

    `stated` is as of `resolution`; `min_effect` is a fraction. Nothing is said of counts, nor where
    few readings are equal or all differences may be one change.
    """
    seen = list(values)
    step = resolution(seen, stated)
    is_plain = bool(stated) or _TIES <= len(set(seen)) <= len(seen) / 2
    if metric.noise is NoiseClass.EXACT or not is_plain or not is_coarse(1.0, step, min_effect):
        return ""
    return (
        f"Values are rounded to steps of {threshold(round(step, 3))}: a smaller difference may be "
        "rounding, and a smaller change may not show."
    )


def rounding_noise(step: float) -> float:
    """Return the standard deviation that rounding to a `step` makes by itself."""
    return step / math.sqrt(12)


def with_rounding(noise: Noise, step: float) -> Noise:
    """Return the noise of a series whose values are rounded to `step`, a fraction of the level."""
    least = rounding_noise(step)
    if step <= _NEGLIGIBLE * noise.sigma_run:
        return noise
    run = max(noise.sigma_run, least)
    own = (run**2 - least**2) / step**2  # of readings before they are rounded: Sheppard's
    shares = np.exp(-4 * (math.pi * _HARMONICS) ** 2 * own) / _HARMONICS**2
    bias = step / math.pi * math.sqrt(float(shares.sum()) / 2)
    bias = bias if bias > _NOTHING * run else 0.0
    return replace(
        noise,
        sigma_run=run,
        sigma_build=math.hypot(noise.sigma_build, bias),
        resolution=step,
        rounding=bias,
    )
