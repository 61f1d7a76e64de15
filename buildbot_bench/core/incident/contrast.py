"""The step between two sides of some images each: its size, and how well boots tell it.

With x the mean logarithm of a side, over images i of n_i boots each,

    delta = x_new - x_old,   var = sum over sides of 1 / sum_i 1 / (sigma_build² + s² / n_i),

where s² and sigma_build² join what is at hand with what is known of the series, which counts as
DF_KNOWN and DF_KNOWN_BUILD more degrees of freedom (the conjugate prior of a variance: A. Gelman
et al., *Bayesian Data Analysis*, 3rd ed. 2013, 2.6). delta is then Student's t, with
Satterthwaite's degrees of freedom. It decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from scipy.special import stdtr, stdtrit

from buildbot_bench.core.model import spread_of_boots
from buildbot_bench.core.search import Evidence, SearchPolicy

DF_KNOWN = 8.0
"""Degrees of freedom of the run noise that is told (core.model.Prior.tail_df)."""

DF_KNOWN_BUILD = 2.0
"""The same of the noise between images, of which less is known (core.model.Prior.weight)."""

_FAR = 3.0  # run noises; as core.model.spread has it
_MAJORITY = 3  # images of which one may lie elsewhere

Side = Mapping[int, tuple[float, ...]]
"""The logarithms of the boots of one side's images, by image."""

Sides = tuple[Side, Side]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesContrast:
    """The step in logarithms, its standard error and degrees of freedom.

    `of_images` is the share of its variance that images make.
    """

    delta: float
    error: float
    df: float
    of_images: float

    def sure_above(self, least: float, sign: float) -> float:
        """The probability that the step, taken in the direction of `sign`, exceeds `least`."""
        return float(stdtr(self.df, (sign * self.delta - least) / max(self.error, 1e-12)))

    @property
    def interval(self) -> tuple[float, float, float]:
        """The effect as a fraction of the old level, with the ends of its 95 % interval."""
        reach = float(stdtrit(self.df, 0.975)) * self.error
        low, middle, high = (math.expm1(self.delta + part) for part in (-reach, 0.0, reach))
        return middle, low, high


def images_at(position: int, evidence: Evidence, sigma_run: float | None) -> Side:
    """The logarithms of all boots of a position's kernel, outliers drawn in."""
    kernel = _kernel(position, evidence)
    found: dict[int, list[float]] = {}
    for one in evidence.measurements:
        if one.value > 0 and _kernel(one.position, evidence) == kernel:
            found.setdefault(one.image, []).append(math.log(one.value))
    return {image: _drawn_in(found[image], sigma_run) for image in sorted(found)}


def _kernel(position: int, evidence: Evidence) -> int:
    while position in evidence.same_as_previous:
        position -= 1
    return position


def _drawn_in(logs: list[float], sigma_run: float | None) -> tuple[float, ...]:
    """An odd boot is counted as one that lies _FAR run noises off (winsorized)."""
    if sigma_run is None:
        return tuple(logs)
    middle, reach = median(logs), _FAR * spread_of_boots(logs, sigma_run)
    return tuple(min(max(log, middle - reach), middle + reach) for log in logs)


def that_agree(side: Side, apart: float) -> Side:
    """The images of a side that lie no further than `apart` from the median one.

    Of two no majority can be told: both stay.
    """
    if len(side) < _MAJORITY:
        return side
    middle = median(fmean(logs) for logs in side.values())
    return {image: logs for image, logs in side.items() if abs(fmean(logs) - middle) <= apart}


def contrast(sides: Sides, policy: SearchPolicy, *, apart: float) -> SeriesContrast:
    """The step between two sides, each of at least one boot; the policy tells the noise.

    Images that do not agree are passed over, yet they tell how far images lie apart.
    """
    known, sides = sides, (that_agree(sides[0], apart), that_agree(sides[1], apart))
    boots = [logs for side in sides for logs in side.values()]
    squares = sum((log - fmean(logs)) ** 2 for logs in boots for log in logs)
    df_run = float(sum(len(logs) - 1 for logs in boots))
    if policy.sigma_run is not None:
        squares, df_run = squares + DF_KNOWN * policy.sigma_run**2, df_run + DF_KNOWN
    run = squares / df_run if df_run else math.inf
    build, df_build = _between_images(known, run, policy, apart) if policy.layout else (0.0, 1.0)
    old, new = (_level(side, run, build) for side in sides)
    variance = old[1] + new[1]
    share = sum(build / len(side) for side in sides) / variance
    share = min(share, 1.0)
    return SeriesContrast(
        delta=new[0] - old[0],
        error=math.sqrt(variance),
        df=1 / (share**2 / df_build + (1 - share) ** 2 / max(df_run, 1.0)),
        of_images=share,
    )


def _between_images(
    sides: Sides, run: float, policy: SearchPolicy, apart: float
) -> tuple[float, float]:
    """The variance between images of one code, and its degrees of freedom.

    A far image is counted as one that lies `apart` from the others.
    """
    told = (policy.sigma_build or 0.0) ** 2
    beyond = df = 0.0
    for side in sides:
        means = [fmean(logs) for logs in side.values()]
        explained = fmean(run / len(logs) for logs in side.values())
        middle = median(means)
        drawn = [min(max(mean, middle - apart), middle + apart) for mean in means]
        spread = sum((mean - fmean(drawn)) ** 2 for mean in drawn)
        beyond += max(spread - explained * (len(means) - 1), 0.0)
        df += len(means) - 1
    total = df + DF_KNOWN_BUILD
    return (beyond + DF_KNOWN_BUILD * told) / total, total


def _level(side: Side, run: float, build: float) -> tuple[float, float]:
    """The mean of a side and its variance."""
    weights = {image: 1 / max(build + run / len(logs), 1e-24) for image, logs in side.items()}
    total = sum(weights.values())
    mean = sum(weights[image] * fmean(logs) for image, logs in side.items()) / total
    return mean, 1 / total
