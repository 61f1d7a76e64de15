"""The posterior of the step between two sides of several images each.

With x the mean logarithm of a side, over images i of n_i boots each,

    delta = x_new - x_old,   var = sum over sides of 1 / sum_i 1 / (sigma_build² + s² / n_i),

where s² and sigma_build² pool the data with the series' known noise, which counts as DF_KNOWN and
DF_KNOWN_BUILD degrees of freedom (the conjugate prior of a variance: A. Gelman et al., *Bayesian
Data Analysis*, 3rd ed. 2013, 2.6). delta is Student's t with Satterthwaite's degrees of freedom,
averaged over the given build noise and a wider one (prior WIDER_WEIGHT), weighed by the spread of
the images.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit

from buildbot_bench.core.model import constants, spread_of_boots
from buildbot_bench.core.model.image_votes import ImageVotes, image_votes
from buildbot_bench.core.search import Evidence, SearchPolicy
from buildbot_bench.core.search.noise_model import wider_build

DF_KNOWN = 8.0
"""Degrees of freedom of the run noise that is told (core.model.Prior.tail_df)."""

DF_KNOWN_BUILD = 2.0
"""The same of the noise between images, of which less is known (core.model.Prior.weight)."""

_LEAST_ERROR = 1e-12  # in logarithms: what repeats exactly must not divide by zero
_LEAST_DENSITY = 1e-300
_FAR = 3.0  # run noises; as core.model.spread has it
_MAJORITY = 3  # images of which one may lie elsewhere

Side = Mapping[int, tuple[float, ...]]
"""The logarithms of the boots of one side's images, by image."""

Sides = tuple[Side, Side]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Student:
    """Student's t of the step under one belief of the build noise, and how much it is believed.

    `of_images` is the share of its variance that images make.
    """

    weight: float
    delta: float
    error: float
    df: float
    of_images: float

    def above(self, least: float) -> float:
        """The probability that the step exceeds `least`."""
        return float(stdtr(self.df, (self.delta - least) / self.error))


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesContrast:
    """The step, an average over what the build noise may be; `votes` are the images' on it.

    `old` and `new` are the levels of the sides, in logarithms; `beliefs` have weights that add up
    to 1.
    """

    old: float
    new: float
    beliefs: tuple[_Student, ...]
    votes: tuple[ImageVotes, ImageVotes]

    @property
    def delta(self) -> float:
        """The expected step in logarithms."""
        return self.new - self.old

    @property
    def of_images(self) -> float:
        """The share of the step's variance that images make."""
        return sum(one.weight * one.of_images for one in self.beliefs)

    def sure_above(self, least: float, sign: float) -> float:
        """The probability that the step, taken in the direction of `sign`, exceeds `least`."""
        above = sum(one.weight * one.above(sign * least) for one in self.beliefs)
        return above if sign > 0 else 1 - above

    def sure_above_in_each(self, least: float, sign: float) -> float:
        """The same under the belief of the build noise in which it is least probable."""
        above = [one.above(sign * least) for one in self.beliefs]
        return min(above) if sign > 0 else 1 - max(above)

    @property
    def interval(self) -> tuple[float, float, float]:
        """The effect as a fraction of the old level, with the ends of its 95 % interval."""
        return (
            math.expm1(self.delta),
            math.expm1(self._below(0.025)),
            math.expm1(self._below(0.975)),
        )

    def _below(self, share: float) -> float:
        """The logarithm below which the step lies with that probability."""
        ends = [one.delta + one.error * float(stdtrit(one.df, share)) for one in self.beliefs]
        low, high = min(ends), max(ends)
        if high - low <= _LEAST_ERROR:
            return high
        return float(brentq(lambda at: 1 - self.sure_above(at, 1.0) - share, low, high))


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

    Of two no majority can be found, nor of two pairs: all stay.
    """
    if len(side) < _MAJORITY:
        return side
    middle = median(fmean(logs) for logs in side.values())
    near = {image: logs for image, logs in side.items() if abs(fmean(logs) - middle) <= apart}
    return near or side


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
    spread = _spread(known, run, apart)
    priors = _build_variances(policy)
    likely = [weight * spread.density(build) for build, weight in priors]
    beliefs, levels = [], []
    for (build, _), weight in zip(priors, likely, strict=True):
        found, df_build = spread.learnt(build) if policy.layout else (0.0, 1.0)
        old, new = (_level(side, run, found) for side in sides)
        variance = old[1] + new[1]
        share = min(sum(found / len(side) for side in sides) / variance, 1.0)
        levels.append((old[0], new[0]))
        beliefs.append(
            _Student(
                weight=weight / sum(likely),
                delta=new[0] - old[0],
                error=max(math.sqrt(variance), _LEAST_ERROR),
                df=1 / (share**2 / df_build + (1 - share) ** 2 / max(df_run, 1.0)),
                of_images=share,
            )
        )
    old_level, new_level = (
        sum(one.weight * pair[side] for one, pair in zip(beliefs, levels, strict=True))
        for side in (0, 1)
    )
    return SeriesContrast(
        old=old_level,
        new=new_level,
        beliefs=tuple(beliefs),
        votes=(
            image_votes(_images(known[0], run), level=old_level, other=new_level),
            image_votes(_images(known[1], run), level=new_level, other=old_level),
        ),
    )


def _build_variances(policy: SearchPolicy) -> tuple[tuple[float, float], ...]:
    """What the variance between images is before any is seen, with its probabilities."""
    if not policy.layout:
        return ((0.0, 1.0),)
    told, wider = (policy.sigma_build or 0.0) ** 2, wider_build(policy) ** 2
    return ((told, 1 - constants.WIDER_WEIGHT), (wider, constants.WIDER_WEIGHT))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Spread:
    """How far images of a side lie apart: squares with their degrees of freedom.

    `explained` is the variance of an image's mean by its boots.
    """

    squares: float
    df: int
    explained: float
    beyond: float

    def density(self, build: float) -> float:
        """The density of the squares where the variance between images is about `build`.

        squares / df / (build + explained) is then F(df, DF_KNOWN_BUILD).
        """
        if not self.df:
            return 1.0
        variance = max(build + self.explained, _LEAST_ERROR**2)
        x = max(self.squares, _LEAST_ERROR**2) / self.df / variance
        half, known = self.df / 2, DF_KNOWN_BUILD / 2
        density = x ** (half - 1) * (1 + x * half / known) ** -(half + known) / variance
        return float(max(density, _LEAST_DENSITY))

    def learnt(self, build: float) -> tuple[float, float]:
        """The variance between images and its degrees of freedom, where it was `build` before."""
        total = self.df + DF_KNOWN_BUILD
        return (self.beyond + DF_KNOWN_BUILD * build) / total, total


def _spread(sides: Sides, run: float, apart: float) -> _Spread:
    """How far images lie apart; a far one is counted as one that lies `apart` from the others."""
    squares = beyond = 0.0
    df, explained = 0, []
    for side in sides:
        means = [fmean(logs) for logs in side.values()]
        middle = median(means)
        drawn = [min(max(mean, middle - apart), middle + apart) for mean in means]
        within = sum((mean - fmean(drawn)) ** 2 for mean in drawn)
        explained.append(fmean(run / len(logs) for logs in side.values()))
        squares += within
        beyond += max(within - explained[-1] * (len(means) - 1), 0.0)
        df += len(means) - 1
    return _Spread(squares=squares, df=df, explained=fmean(explained), beyond=beyond)


def _images(side: Side, run: float) -> list[tuple[float, float]]:
    """What each image of a side reads, with its standard error."""
    return [(fmean(logs), math.sqrt(run / len(logs))) for logs in side.values()]


def _level(side: Side, run: float, build: float) -> tuple[float, float]:
    """The mean of a side and its variance."""
    weights = {image: 1 / max(build + run / len(logs), 1e-24) for image, logs in side.items()}
    total = sum(weights.values())
    mean = sum(weights[image] * fmean(logs) for image, logs in side.items()) / total
    return mean, 1 / total
