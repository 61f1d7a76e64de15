"""The posterior of steps and levels under one noise hypothesis."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot, log, log1p, pi, sqrt

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.drift import Drift, Drifting, LevelPrior, follow, partitions
from buildbot_bench.core.search.likelihood import SharedTerms, ends_claim, middle
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import Hypothesis, Readings, SearchNoise
from buildbot_bench.core.search.partition import (
    Normal,
    Partition,
    StepPrior,
    partition_posteriors,
    segment_evidence,
)
from buildbot_bench.core.search.search_range import FloatArray

# A value this many standard deviations off is an outlier and tells nothing of a drift.
_FAR = 4.0
# Steps as likely as this and as large, in standard deviations, are no doing of a drift.
_CERTAIN = 0.999
_BEYOND_DRIFT = 6.0  # standard deviations
_LEAST_REACH = 1.0
_TINY = 1e-300  # so that no weight of 0 divides


@dataclass(frozen=True, kw_only=True, slots=True)
class Posterior:
    """The posterior under one hypothesis of the noise.

    `stretches` and `ahead` (m, m) are the level of each stretch, and where a boot of it would read
    now; `change` (m - 1,) is that of the level at each gap, if it has a step. `score` is the
    logarithm of the hypothesis's prior times its evidence; `weight` its posterior. With `of_shares`
    the levels are shares of boots that have another speed (core.search.races).
    """

    hypothesis: Hypothesis
    stretches: Normal
    ahead: Normal
    change: Normal
    partition: Partition
    score: float
    weight: float = 0.0
    of_shares: bool = False
    drift: Drift | None = None

    @property
    def noise(self) -> SearchNoise:
        """What the hypothesis says of the noise, spells of slow runs included."""
        return self.hypothesis.noise

    def levels(self) -> Normal:
        """Of each measured kernel, over all stretches, (m,); each call computes them anew."""
        weight, mean = self.partition.stretch, self.stretches.mean
        first = _over_kernel(weight * mean)
        second = _over_kernel(weight * (self.stretches.variance + mean * mean))
        return Normal(mean=first, variance=np.maximum(second - first * first, 0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class PriorModel:
    """What all hypotheses of the noise share: where steps may be, the claim (in ln), the policy.

    `kept` and `followed` keep what is computed of the values once for several hypotheses.
    """

    prior: StepPrior
    claimed: float
    policy: SearchPolicy
    kept: SharedTerms
    followed: dict[tuple[Drift, bytes], Drifting] = field(default_factory=dict)

    def given(self, readings: Readings, hypotheses: Sequence[Hypothesis]) -> list[Posterior]:
        """The posterior under each hypothesis; of few values, many take as long as one."""
        noises = [one.noise for one in hypotheses]
        prior_sd = np.array([self.prior_sd(readings, noise) for noise in noises])
        levels, log_evidence = segment_evidence(readings, noises, prior_sd, self.claimed, self.kept)
        partitions = partition_posteriors(log_evidence, self.prior)
        change = change_of(np.array([one.stretch for one in partitions]), levels)
        found = []
        for one, (hypothesis, partition) in enumerate(zip(hypotheses, partitions, strict=True)):
            stretches = _row(levels, one)
            found.append(
                Posterior(
                    hypothesis=hypothesis,
                    stretches=stretches,
                    ahead=stretches,
                    change=_row(change, one),
                    partition=partition,
                    score=partition.log_evidence + log(hypothesis.weight),
                )
            )
        return found

    def drifting(self, readings: Readings, drift: Drift, best: Posterior) -> Posterior:
        """The posterior if the lab drifts; `best` tells outliers and sure steps."""
        noise, sd = drift.noise, drift.sd
        level = best.levels()
        place, far = readings.place_of_value, hypot(sd, noise.total)
        away = np.abs(readings.values - level.mean[place])
        reach = _likelier(far) if self.policy.spells else _FAR
        inliers = away <= reach * np.sqrt(far**2 + level.variance[place])
        key = (drift, inliers.tobytes())
        if key not in self.followed:
            self.followed[key] = follow(readings, drift, inliers)
        told = self.followed[key]
        large = np.abs(best.change.mean) > _BEYOND_DRIFT * far
        certain = np.flatnonzero(large & (best.partition.step > _CERTAIN))
        levels = LevelPrior(
            middle=middle(readings),
            sd=self.prior_sd(readings, noise),
            ends=ends_claim(readings, far, self.claimed),
        )
        found = partitions(told, levels, self.prior, certain)
        return Posterior(
            hypothesis=Hypothesis(noise=drift.noise_of_values, weight=drift.weight),
            stretches=found.level,
            ahead=found.ahead,
            change=found.change,
            partition=found.partition,
            score=found.partition.log_evidence + log(drift.weight),
            drift=drift,
        )

    def prior_sd(self, readings: Readings, noise: SearchNoise) -> float:
        """How far apart levels may lie, in ln: as far as values, claim, or noise say."""
        seen = float(np.ptp(readings.values))
        wanted = abs(log1p(max(self.policy.claimed or self.policy.min_effect, -0.99)))
        return max(0.5 * seen, wanted, 1.5 * noise.total)


def _likelier(sd: float) -> float:
    """Deviations `sd` from which on a value is likelier to be an outlier."""
    density = (1 - constants.OUTLIER_SHARE) * constants.OUTLIER_SPAN / constants.OUTLIER_SHARE
    return sqrt(2 * max(log(density / (sqrt(2 * pi) * sd)), _LEAST_REACH))


def moments(
    weight: FloatArray, mean: FloatArray, variance: FloatArray, *, axis: int
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a mixture along an axis."""
    total = np.maximum(weight.sum(axis=axis), _TINY)
    first = (weight * mean).sum(axis=axis) / total
    second = (weight * (variance + mean * mean)).sum(axis=axis) / total
    return first, np.maximum(second - first * first, 0.0)


def change_of(weight: FloatArray, stretches: Normal) -> Normal:
    """Return the change of the level at each gap, if it has a step; (H, m, m) to (H, m - 1).

    `weight` is each stretch's probability.
    """
    left, left_variance = moments(weight, stretches.mean, stretches.variance, axis=1)
    right, right_variance = moments(weight, stretches.mean, stretches.variance, axis=2)
    return Normal(
        mean=right[:, 1:] - left[:, :-1],
        variance=right_variance[:, 1:] + left_variance[:, :-1],
    )


def _row(quantities: Normal, one: int) -> Normal:
    return Normal(mean=quantities.mean[one], variance=quantities.variance[one])


def _over_kernel(of_stretch: FloatArray) -> FloatArray:
    """For each kernel the sum over the stretches that hold it, (m, m) to (m,)."""
    begun = np.cumsum(of_stretch, axis=0)
    total: FloatArray = np.diagonal(np.cumsum(begun[:, ::-1], axis=1)[:, ::-1])
    return total
