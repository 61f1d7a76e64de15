"""The resolution of a metric, and what rounding to it adds to the noise of a series.

Rounding x = level + e, e ~ N(0, s²), to whole steps d adds d²/12 to the variance of a reading. Part
of it is a bias of the level that further readings do not average out: over all places of the level
within a step, with Fourier's coefficients of the sawtooth (B. Widrow, I. Kollár, *Quantization
Noise* (2008), 4.2), its variance is

    b² = Σ_k d²/(2·π²·k²) · exp(-4·π²·k²·s²/d²),     k = 1, 2, …

which is d²/12 where s is far below d, and nothing from half a step on.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from buildbot_bench.core.figures import threshold
from buildbot_bench.core.metric import Metric, NoiseClass
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.model.spread import Floats
from buildbot_bench.core.run_times import is_coarse

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
