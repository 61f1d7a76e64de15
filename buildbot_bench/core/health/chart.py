"""The control chart of a testbed, from its control image's rounds, and the testbed's recovery.

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

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from buildbot_bench.core.health.model import (
    Chart,
    ChartPolicy,
    Point,
    Round,
    RoundSpread,
    Signal,
    Span,
)
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Prior
from buildbot_bench.core.model.spread import robust_level
from buildbot_bench.core.sample import PPS, Iteration, Metric, Sample

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

    Rounds in an excluded time teach nothing and end what the average remembers.
    Values that are not positive count as none.
    """
    residuals, reference = _residuals(rounds, spread, excluded)
    scores = _scores(residuals, spread.df)
    reach = -float(stdtrit(spread.df, ndtr(-policy.leap)))
    points, average, shift = [], 0.0, 0.0
    for residual, score in zip(residuals, scores, strict=True):
        if residual.excluded:
            average = shift = 0.0
        elif residual.deviation is not None:
            average += policy.weight * (score - average)
            shift += policy.weight * (residual.deviation - shift)
        points.append(
            Point(
                round=residual.round,
                deviation=residual.deviation,
                sigma=residual.sigma,
                average=shift,
                limit=max(reach * residual.sigma, policy.tolerance),
                excluded=residual.excluded,
                signal=None
                if residual.excluded
                else _signal(residual, score, average, shift, policy),
            )
        )
    return Chart(
        points=tuple(points),
        reference=reference,
        average_limit=_average_limit(rounds, spread, policy),
        spread=spread,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Residual:
    """A round against the good ones before it, of which there were `known`.

    `gap` is the difference of ln(level), None without a value; `sigma` its standard deviation;
    `silent` how many rounds in a row have none, up to this one.
    """

    round: Round
    gap: float | None
    sigma: float
    excluded: bool
    known: int
    silent: int

    @property
    def deviation(self) -> float | None:
        """The gap as a fraction of the level."""
        return None if self.gap is None else math.expm1(self.gap)


def _residuals(
    rounds: Sequence[Round], spread: RoundSpread, excluded: Sequence[Span]
) -> tuple[list[_Residual], float | None]:
    """The residuals, and the level that the good rounds have in the end."""
    found = []
    known, silent, weight, mean = 0, 0, 0.0, 0.0
    for one in rounds:
        is_excluded = any(span.holds(one.at_s) for span in excluded)
        logs = _logs(one)
        silent = 0 if logs else silent + 1
        gap, sigma = None, 0.0
        if logs:
            level, variance = robust_level(logs, spread.boot), spread.variance(len(logs))
            gap = min(max(level - mean, -_WIDEST), _WIDEST) if known else 0.0
            sigma = math.sqrt(variance + (1 / weight if known else 0.0))
        found.append(
            _Residual(
                round=one, gap=gap, sigma=sigma, excluded=is_excluded, known=known, silent=silent
            )
        )
        if logs and not is_excluded:
            known += 1
            weight += 1 / variance
            mean += (level - mean) / (variance * weight)
    # The mean of the largest floats' logarithms may round to one that no float has.
    return found, math.exp(min(mean, _LOG_MOST)) if known else None


def _scores(residuals: Sequence[_Residual], df: float) -> list[float]:
    """The normal score of each residual: 0 for one without a value, or with none before it."""
    ratios = np.array([one.gap / one.sigma if one.gap else 0.0 for one in residuals])
    scores = -ndtri(stdtr(df, -np.abs(ratios)))
    return [float(x) for x in np.copysign(np.minimum(scores, _MOST), ratios)]


def _signal(
    residual: _Residual, score: float, average: float, shift: float, policy: ChartPolicy
) -> Signal | None:
    if residual.deviation is None:
        has_reference = residual.known or residual.silent >= _SILENT_ROUNDS
        return Signal.NO_VALUE if has_reference else None
    if abs(score) > policy.leap and abs(residual.deviation) >= policy.tolerance:
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
