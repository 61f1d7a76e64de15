"""The posterior of steps while the lab drifts.

A drift is an Ornstein-Uhlenbeck process of standard deviation sd whose values t seconds apart
correlate by exp(-t / T): T is 4 h between boots. Where runs follow each other on a machine that
others use, it is some runs: they come in spells. All values are jointly normal, and the evidence of
a partition has a closed form in which drift and levels are integrated out: Rasmussen & Williams,
"Gaussian Processes for Machine Learning" (2006), section 2.7. A drift ties all stretches together,
so partitions are weighed one by one: those with at most two uncertain steps.
"""

from dataclasses import dataclass, replace
from math import hypot, log, pi

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cho_solve_banded, cholesky_banded

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.likelihood import EndsClaim
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import Hypothesis, Readings, SearchNoise, narrow
from buildbot_bench.core.search.partition import Normal, Partition, StepPrior
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, IntArray

# Of a machine that others use: the noise from run to run and that of spells, in standard deviations
# of the noise without spells; how many runs a spell lasts, some seconds or a minute of 60 ms and
# more; the prior of each, so that all are as likely as no spells. Chosen, none by recorded runs.
_SPELL_NOISES = ((0.85, 0.6), (0.6, 1.0))
_SPELL_RUNS = (4.0, 40.0)
_SPELLS = 1 / 4
# A second uncertain step is thought of beside so many of the likeliest first ones.
_FIRST_STEPS = 12
_NEGLIGIBLE = 1e-7  # a posterior weight; chosen: far below any error that a policy may ask for
_TINY = 1e-300  # so that no weight of 0 divides
_AT_ONCE = 1e-6  # of the drift's time: values at one time, to which no drift is told apart


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """How a lab may drift beside its `noise`: by `sd`, in ln, within `time_s`; its prior weight.

    `runs` is the same time as a number of runs where they follow each other (0: boots do not).
    """

    noise: SearchNoise
    sd: float
    time_s: float
    weight: float
    runs: float = 0.0

    @property
    def noise_of_values(self) -> SearchNoise:
        """The noise of values of which nothing is known but their level."""
        return replace(self.noise, run=hypot(self.noise.run, self.sd)) if self.runs else self.noise


def drifts_of(policy: SearchPolicy, readings: Readings, best: Hypothesis) -> list[Drift]:
    """How the lab may drift, given the best noise without a drift; not all values at one time."""
    if not policy.spells:
        alone = narrow(policy, best)
        return [
            Drift(
                noise=alone.noise,
                sd=constants.DRIFT_SD * alone.noise.run,
                time_s=constants.DRIFT_TIME_S,
                weight=constants.DRIFT_WEIGHT * alone.weight,
            )
        ]
    apart = np.diff(np.sort(readings.at_s))
    run_s = float(np.median(apart[apart > 0]))
    return [
        Drift(
            noise=replace(best.noise, run=run * best.noise.run),
            sd=sd * best.noise.run,
            time_s=runs * run_s,
            weight=_SPELLS * best.weight,
            runs=runs,
        )
        for run, sd in _SPELL_NOISES
        for runs in _SPELL_RUNS
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Drifting:
    """What the values tell of the levels of m measured kernels while the lab drifts.

    Their likelihood is a normal one, given by its precision and precision times mean, both summed
    from the first kernel on: `precision` (m + 1, m + 1), `pull` (m + 1,), and by its logarithm
    where all levels are 0. The drift at the last value is then normal: around `now`, less what
    `now_pull` (m + 1,), summed alike, makes of the levels, with the variance `now_variance`.
    """

    precision: FloatArray
    pull: FloatArray
    log_at_zero: float
    now: float
    now_pull: FloatArray
    now_variance: float


def follow(readings: Readings, drift_of: Drift, inliers: BoolArray) -> Drifting:
    """Integrate the drift out of the values; those that are not `inliers` (N,) are outliers."""
    noise, sd = drift_of.noise, drift_of.sd
    in_turn = np.flatnonzero(inliers)
    in_turn = in_turn[np.argsort(readings.at_s[in_turn], kind="stable")]
    values = readings.values[in_turn]
    apart = np.maximum(np.diff(readings.at_s[in_turn]) / drift_of.time_s, _AT_ONCE)
    image = np.repeat(np.arange(len(readings.image)), readings.boots_of_image)[in_turn]
    layout = noise.build * (image[:, None] == np.unique(image))
    of_kernel = (
        readings.place_of_value[in_turn][:, None] == np.arange(len(readings.kernels))
    ) * 1.0
    now = sd**2 * np.exp(-np.append(np.cumsum(apart[::-1])[::-1], 0.0))
    columns = np.column_stack([of_kernel, values, now])
    weighted, log_determinant = _weigh_values(apart, sd, noise.run, layout, columns)
    spread = log_determinant + len(values) * log(2 * pi)
    outliers = np.log(constants.OUTLIER_SHARE / constants.OUTLIER_SPAN) * np.count_nonzero(~inliers)
    return Drifting(
        precision=_summed(_summed(of_kernel.T @ weighted[:, :-2]).T),
        pull=_summed(of_kernel.T @ weighted[:, -2]),
        log_at_zero=float(
            -0.5 * (values @ weighted[:, -2] + spread)
            + np.log(1 - constants.OUTLIER_SHARE) * len(values)
            + outliers
        ),
        now=float(now @ weighted[:, -2]),
        now_pull=_summed(of_kernel.T @ weighted[:, -1]),
        now_variance=max(sd**2 - float(now @ weighted[:, -1]), 0.0),
    )


def _weigh_values(
    apart: FloatArray, sd: float, run: float, layout: FloatArray, columns: FloatArray
) -> tuple[FloatArray, float]:
    """C⁻¹ `columns` (N, M), and ln |C|, for values with the covariance C = D + run² I + L Lᵀ.

    D is that of the drift at times that are `apart` (N - 1,), in units of its own; L is `layout`
    (N, images). The drift is a Markov process, so that D⁻¹ has three diagonals and all takes as
    long as there are values; the images come in by Woodbury's identity (Rasmussen & Williams, A.3).
    """
    alike, fresh = np.exp(-apart), -np.expm1(-2 * apart)
    ratio = (run / sd) ** 2
    banded = np.ones((2, len(columns)))  # of I + run² D⁻¹: its diagonal, and the one below
    banded[0] += ratio
    banded[0, 1:] += ratio * alike**2 / fresh
    banded[0, :-1] += ratio * alike**2 / fresh
    banded[1, :-1] = -ratio * alike / fresh
    factor = cholesky_banded(banded, lower=True, check_finite=False)
    many = np.column_stack([layout, columns])
    drifting = (many - cho_solve_banded((factor, True), many, check_finite=False)) / run**2
    log_determinant = 2 * np.log(factor[0]).sum() + len(columns) * log(sd**2) + np.log(fresh).sum()
    of_layout, weighted = np.split(drifting, [layout.shape[1]], axis=1)
    images = cho_factor(np.eye(layout.shape[1]) + layout.T @ of_layout, lower=True)
    weighted = weighted - of_layout @ cho_solve(images, layout.T @ weighted)
    log_determinant += 2 * np.log(np.diag(images[0])).sum()
    return weighted, float(log_determinant)


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelPrior:
    """Levels are normal around `middle`; the two ends around a claim's when there is one."""

    middle: float
    sd: float
    ends: EndsClaim | None

    def variants(self, count: int) -> list[tuple[float, FloatArray, FloatArray]]:
        """Weight, means and standard deviations of so many stretches' levels, claim or none."""
        means, sds = np.full(count, self.middle), np.full(count, self.sd)
        if self.ends is None or count == 1:
            return [(1.0, means, sds)]
        told, told_sds = means.copy(), sds.copy()
        told[[0, -1]] = self.ends.old, self.ends.new
        told_sds[[0, -1]] = self.ends.spread
        return [
            (1 - constants.CLAIM_IS_TRUE, means, sds),
            (constants.CLAIM_IS_TRUE, told, told_sds),
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Weighed:
    """P partitions of K steps: `cuts` (P, K) names the gaps.

    `level` and `ahead` (P, K + 1), `change` (P, K): of each stretch, of what a boot of it would
    read now, and of each step.
    """

    cuts: IntArray
    log_weight: FloatArray
    level: Normal
    ahead: Normal
    change: Normal


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """The posterior: `level` and `ahead` of each stretch (m, m), `change` at each gap (m - 1,)."""

    partition: Partition
    level: Normal
    ahead: Normal
    change: Normal


def partitions(
    drifting: Drifting, levels: LevelPrior, prior: StepPrior, certain: IntArray
) -> Followed:
    """Sum over all partitions that have the `certain` steps (gaps) and at most two others."""
    gaps = len(drifting.pull) - 2
    others = np.setdiff1d(np.arange(gaps), certain)
    singles = _weigh(drifting, levels, prior, _with(certain, others[:, None]))
    likeliest = np.argsort(-np.max([one.log_weight for one in singles], axis=0), kind="stable")
    beside = np.zeros((gaps, gaps), dtype=bool)
    beside[np.ix_(others[likeliest[:_FIRST_STEPS]], others)] = True
    pairs = np.argwhere(np.triu(beside | beside.T, 1))
    none = _weigh(drifting, levels, prior, certain[None, :])
    return _sum(
        [*none, *singles, *_weigh(drifting, levels, prior, _with(certain, pairs))], gaps + 1
    )


def _with(certain: IntArray, others: IntArray) -> IntArray:
    """The certain steps beside each of the others, ascending."""
    return np.sort(np.hstack([np.tile(certain, (len(others), 1)), others]), axis=1)


def _weigh(
    drifting: Drifting, levels: LevelPrior, prior: StepPrior, cuts: IntArray
) -> list[_Weighed]:
    """Partitions of equally many steps, for each variant of the levels' prior."""
    count = cuts.shape[1] + 1
    edges = np.pad(
        cuts + 1, ((0, 0), (1, 1)), constant_values=((0, 0), (0, len(drifting.pull) - 1))
    )
    told = np.diff(
        np.diff(drifting.precision[edges[:, :, None], edges[:, None, :]], axis=1), axis=2
    )
    pull = np.diff(drifting.pull[edges], axis=1)
    now_pull = np.diff(drifting.now_pull[edges], axis=1)
    weighed = []
    for weight, means, sds in levels.variants(count):
        precision, pulled = told + np.diag(sds**-2), pull + means / sds**2
        covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        mean = np.einsum("pij,pj->pi", covariance, pulled)
        gain = 0.5 * (pulled * mean).sum(axis=1) - 0.5 * ((means / sds) ** 2).sum()
        gain -= 0.5 * np.linalg.slogdet(precision)[1] + np.log(sds).sum()
        now = _of(np.eye(count) - now_pull[:, None, :], mean, covariance)
        weighed.append(
            _Weighed(
                cuts=cuts,
                log_weight=drifting.log_at_zero + gain + np.log(weight) + prior.log_of(cuts),
                level=_of(np.eye(count)[None], mean, covariance),
                ahead=Normal(
                    mean=now.mean + drifting.now, variance=now.variance + drifting.now_variance
                ),
                change=_of(np.diff(np.eye(count), axis=0)[None], mean, covariance),
            )
        )
    return weighed


def _of(combine: FloatArray, mean: FloatArray, covariance: FloatArray) -> Normal:
    """Linear combinations (1 or P, L, K) of normal quantities, (P, K): (P, L)."""
    return Normal(
        mean=(combine @ mean[:, :, None])[:, :, 0],
        variance=((combine @ covariance) * combine).sum(axis=2),
    )


def _sum(weighed: list[_Weighed], m: int) -> Followed:
    """What all partitions together say of each stretch."""
    total = float(np.logaddexp.reduce(np.concatenate([one.log_weight for one in weighed])))
    level, ahead, change = (np.zeros((3, *shape)) for shape in ((m, m), (m, m), (m - 1,)))
    for one in weighed:
        weight = np.exp(one.log_weight - total)
        kept = weight > _NEGLIGIBLE
        cuts, weight = one.cuts[kept], weight[kept, None]
        first = np.pad(cuts + 1, ((0, 0), (1, 0)))
        last = np.pad(cuts, ((0, 0), (0, 1)), constant_values=m - 1)
        _add(level, (first, last), weight, one.level, kept)
        _add(ahead, (first, last), weight, one.ahead, kept)
        _add(change, (cuts,), weight, one.change, kept)
    partition = Partition(stretch=level[0], step=change[0], log_evidence=total)
    return Followed(
        partition=partition, level=_mixed(level), ahead=_mixed(ahead), change=_mixed(change)
    )


def _add(
    sums: FloatArray, at: tuple[IntArray, ...], weight: FloatArray, what: Normal, kept: BoolArray
) -> None:
    """Add the weights, and what they average_noise_models with its square, where it belongs."""
    mean, variance = what.mean[kept], what.variance[kept]
    for part, moment in zip(sums, (np.ones_like(mean), mean, variance + mean**2), strict=True):
        np.add.at(part, at, weight * moment)


def _mixed(sums: FloatArray) -> Normal:
    """The mean and variance of mixtures from the sums of their moments."""
    mean, square = sums[1:] / np.maximum(sums[0], _TINY)
    return Normal(mean=mean, variance=np.maximum(square - mean**2, 0.0))


def _summed(rows: FloatArray) -> FloatArray:
    """Sums over the first 0, 1, 2, … rows."""
    return np.concatenate([np.zeros_like(rows[:1]), np.cumsum(rows, axis=0)])
