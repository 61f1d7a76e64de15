"""The control chart of a testbed: its data, its rounds judged, and the testbed's recovery.

A round's ln(level) is the testbed's plus noise of a known variance. Each round is compared with the
weighted mean of all good rounds before it, which gives the recursive residuals

    x = (level - mean before) / sqrt(variance + variance of the mean),

independent, of mean 0 and variance 1 while nothing changes (R. L. Brown, J. Durbin, J. M. Evans,
JRSS B 37, 1975; as a chart: C. P. Quesenberry, *SPC Q charts for start-up processes*, J. Quality
Technology 23, 1991). As the variance is estimated, x is Student's t and is turned into the normal
score of the same probability. A leap is one far score; a drift shows in the exponentially weighted
moving average of scores, with asymptotic standard deviation sqrt(weight / (2 - weight)).
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Prior, robust_level
from buildbot_bench.core.sample import PPS, Iteration, Metric, Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One measurement of the control image, ended at `at_s`: a value a boot, or why none."""

    at_s: float
    values: tuple[float, ...] = ()
    failure: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """When a testbed was known to be faulty: after `since_s`, up to `until_s`; None: still."""

    since_s: float
    until_s: float | None = None

    def holds(self, at_s: float) -> bool:
        """Whether a moment lies in it."""
        return self.since_s < at_s and (self.until_s is None or at_s <= self.until_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundSpread:
    """How far rounds stray by themselves, as fractions of the level.

    A round of n boots has the variance between² + boot²/n: `between` is what changes from day to
    day, as the temperature does. (Images play no part: it is always the same one.) `df` says how
    well that is known, as degrees of freedom.
    """

    boot: float
    between: float
    df: float

    def variance(self, boots: int) -> float:
        """That of the mean of so many boots of one round."""
        return self.between**2 + self.boot**2 / boots


class Signal(StrEnum):
    """What showed that the testbed is out of control."""

    LEAP = "leap"
    DRIFT = "drift"
    NO_VALUE = "no value"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartPolicy:
    """When a chart signals.

    `leap` is in standard deviations of one round, `drift` in those of the moving average whose
    weight of the newest round is `weight`. What is off by less than `tolerance`, a fraction, turns
    no verdict and is no signal. With these defaults a testbed that is well gives a false signal
    once in about 500 rounds: the average alone has that in-control run length (D. C. Montgomery,
    *Introduction to Statistical Quality Control*, table 9.11, lambda 0.20, L 2.962), and a leap
    beyond 4.0, added as J. M. Lucas and M. S. Saccucci advise (*Exponentially weighted moving
    average control schemes*, Technometrics 32, 1990), comes once in 16000.
    """

    tolerance: float = 0.01
    weight: float = 0.2
    drift: float = 2.962
    leap: float = 4.0

    def __post_init__(self) -> None:
        """Refuse what would never signal, or always."""
        if not (
            0 <= self.tolerance < 1 and 0 < self.weight <= 1 and min(self.drift, self.leap) > 0
        ):
            raise UsageError(
                f"tolerance {self.tolerance}, weight {self.weight}, drift {self.drift}, "
                f"leap {self.leap} make no control chart",
                hint="tolerance is a fraction, weight lies in (0, 1], the limits are above 0",
            )

    @property
    def average_limit(self) -> float:
        """How far the average of scores may stray from 0."""
        return self.drift * math.sqrt(self.weight / (2 - self.weight))


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One round in the chart.

    `deviation` is that of its level from the mean of the good rounds before it, `sigma` the
    standard deviation of that, `average` the moving average of deviations, `limit` how far a single
    round may stray: all fractions. Without a value, `deviation` is None. `excluded`: it lies in a
    time in which the testbed was known to be faulty.
    """

    round: Round
    deviation: float | None
    sigma: float
    average: float
    limit: float
    excluded: bool
    signal: Signal | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """All rounds of one control image on one testbed, workload and epoch, oldest first.

    `reference` is the level of the good rounds in the unit of their values, None before the first;
    `average_limit` how far the moving average may stray, a fraction.
    """

    points: tuple[Point, ...]
    reference: float | None
    average_limit: float
    spread: RoundSpread

    @property
    def newest(self) -> Point | None:
        """The point of the last round."""
        return self.points[-1] if self.points else None

    @property
    def good(self) -> tuple[Point, ...]:
        """The points that were in control."""
        return tuple(
            point
            for point in self.points
            if point.signal is None and not point.excluded and point.deviation is not None
        )


GOOD_ROUNDS = 2  # rounds in a row; chosen: one good round may be luck
_PLAIN = 3.0  # standard deviations: no round is good again that strays further


def has_recovered(points: Sequence[Point], shift: float | None, policy: ChartPolicy) -> bool:
    """Whether the last rounds since the signal, `GOOD_ROUNDS` of them, were good.

    `points` are those since the signal, it excluded; `shift` is by what fraction the control image
    was off when it came, None when it gave no value.
    """
    last = points[-GOOD_ROUNDS:]
    return len(last) == GOOD_ROUNDS and all(_is_good(point, shift, policy) for point in last)


def _is_good(point: Point, shift: float | None, policy: ChartPolicy) -> bool:
    """Nearer to the reference than to where it was when the chart signalled, and no wonder."""
    if point.deviation is None:
        return False
    off = abs(point.deviation)
    if off > max(_PLAIN * point.sigma, policy.tolerance):
        return False
    return shift is None or off < abs(shift) / 2


_MOST = 30.0  # a score beyond which no probability is told from 0
_SILENT_ROUNDS = 2  # so many without a value, and none before that had one, are no accident
_LOG_MOST = math.log(sys.float_info.max)
_WIDEST = 20.0  # of a gap: no testbed becomes faster by more than a factor of half a billion


def learn_spread(rounds: Sequence[Round], metric: Metric = PPS) -> RoundSpread:
    """How far rounds stray while the testbed works; rounds in which it was not are left out.

    It is the noise model's estimate with rounds for images: outliers and single leaps among them
    weigh little. Until the rounds tell, of which two weigh as much, CONTROL_SPREAD is assumed.
    """
    boots = constants.RUN_NOISE
    prior = Prior(sigma_run=boots, sigma_build=constants.CONTROL_SPREAD * boots)
    noise = learn([_sample(place, one, metric) for place, one in enumerate(rounds)], prior=prior)
    return RoundSpread(
        boot=noise.sigma_run, between=noise.sigma_build, df=min(noise.df_run, noise.df_build)
    )


def chart(
    rounds: Sequence[Round],
    spread: RoundSpread,
    policy: ChartPolicy,
    *,
    excluded: Sequence[Span] = (),
) -> Chart:
    """The chart of rounds in the order of their time.

    Excluded rounds teach nothing and end what the average remembers; values <= 0 count as none.
    """
    reach = -float(stdtrit(spread.df, ndtr(-policy.leap)))
    points: list[Point] = []
    known, silent, weight, mean = 0, 0, 0.0, 0.0
    average, shift = 0.0, 0.0
    for one in rounds:
        is_excluded = any(span.holds(one.at_s) for span in excluded)
        logs = _logs(one)
        silent = 0 if logs else silent + 1
        deviation, sigma, score = None, 0.0, 0.0
        if logs:
            level, variance = robust_level(logs, spread.boot), spread.variance(len(logs))
            gap = min(max(level - mean, -_WIDEST), _WIDEST) if known else 0.0
            sigma = math.sqrt(variance + (1 / weight if known else 0.0))
            deviation, score = math.expm1(gap), _score(gap / sigma if gap else 0.0, spread.df)
        signal = None
        if is_excluded:
            average = shift = 0.0
        elif deviation is None:
            if known or silent >= _SILENT_ROUNDS:
                signal = Signal.NO_VALUE
        else:
            average += policy.weight * (score - average)
            shift += policy.weight * (deviation - shift)
            signal = _signal((deviation, score), (shift, average), policy)
        points.append(
            Point(
                round=one,
                deviation=deviation,
                sigma=sigma,
                average=shift,
                limit=max(reach * sigma, policy.tolerance),
                excluded=is_excluded,
                signal=signal,
            )
        )
        if logs and not is_excluded:
            known += 1
            weight += 1 / variance
            mean += (level - mean) / (variance * weight)
    return Chart(
        points=tuple(points),
        # The mean of the largest floats' logarithms may round to one that no float has.
        reference=math.exp(min(mean, _LOG_MOST)) if known else None,
        average_limit=_average_limit(rounds, spread, policy),
        spread=spread,
    )


def _score(ratio: float, df: float) -> float:
    """The normal score of a residual, which is Student's t."""
    return math.copysign(min(-float(ndtri(stdtr(df, -abs(ratio)))), _MOST), ratio)


def _signal(
    single: tuple[float, float], moving: tuple[float, float], policy: ChartPolicy
) -> Signal | None:
    """What a round shows by its deviation and score, and by the moving averages of both."""
    (deviation, score), (shift, average) = single, moving
    if abs(score) > policy.leap and abs(deviation) >= policy.tolerance:
        return Signal.LEAP
    if abs(average) > policy.average_limit and abs(shift) >= policy.tolerance:
        return Signal.DRIFT
    return None


def _average_limit(rounds: Sequence[Round], spread: RoundSpread, policy: ChartPolicy) -> float:
    """How far the average of rounds with the usual number of boots may stray."""
    boots = [len(logs) for one in rounds if (logs := _logs(one))]
    sigma = math.sqrt(spread.variance(int(np.median(boots)) if boots else 1))
    return max(policy.average_limit * sigma, policy.tolerance)


def _logs(one: Round) -> list[float]:
    return [math.log(value) for value in one.values if value > 0 and math.isfinite(value)]


def _sample(place: int, one: Round, metric: Metric) -> Sample:
    return Sample(
        label="",
        position=place,
        metric=metric,
        iterations=tuple(Iteration(value=value, at_s=one.at_s) for value in one.values),
    )
