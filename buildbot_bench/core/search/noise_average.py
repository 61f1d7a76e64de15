"""Noise hypotheses (one mode, two modes, a drift) weighed by the evidence."""

from dataclasses import dataclass, replace
from math import exp, hypot, log1p

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.climb import NEGLIGIBLE, QUICK_ERROR, Climber
from buildbot_bench.core.search.drift import drifts_of
from buildbot_bench.core.search.far_images import far_images, posterior_share, prior_share
from buildbot_bench.core.search.likelihood import SharedTerms
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import (
    Hypothesis,
    SearchNoise,
    bimodal,
    ladders,
)
from buildbot_bench.core.search.partition import StepPrior, clustering_of
from buildbot_bench.core.search.posterior import Posterior, PriorModel
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.screen import quick_scores
from buildbot_bench.core.search.search_range import FloatArray
from buildbot_bench.core.search.segments import Normal
from buildbot_bench.core.search.two_speeds import of_two_speeds, without_speeds

# A drift that was so far below the best does not come up when the share of far images is learnt.
_NEVER = 30.0
# The share of far images is learnt anew where so many times what was presumed are seen.
_MORE_FAR = 1.3
# Two modes are thought of while values are few, or when this share lies beyond so many deviations.
_FEW_VALUES = 25
_MISFIT = 2.2  # deviations
_MISFIT_SHARE = 0.07  # of the values; of a normal's 2.8 % lie as far off
# With more values than this a drift averages out, and the cube of their number would be waited for.
_DRIFT_VALUES = 400


def average_noise_models(
    readings: Readings, gap_edges: FloatArray, changes: int, policy: SearchPolicy
) -> tuple[Posterior, ...]:
    """All hypotheses that the evidence leaves standing, the likeliest first; weights sum to 1.

    `gap_edges` (2, m - 1) is the cumulated prior of the commits where each gap begins and ends,
    `changes` how many commits change the kernel.
    """
    prior_model = PriorModel(
        prior=step_prior(gap_edges, changes, policy),
        claimed=log1p(policy.claimed) if policy.claimed else 0.0,
        policy=policy,
        kept=SharedTerms(readings=readings),
    )
    share = prior_share(policy)
    first = _given_share(prior_model, readings, share)
    found = first.normalised()
    noise, level = found[0].noise, found[0].levels().mean
    seen = far_images(without_speeds(readings, noise, level), noise, level)
    learnt = posterior_share(policy, seen)
    if learnt <= _MORE_FAR * share:
        return found
    return _given_share(prior_model, readings, learnt, first).normalised()


def step_prior(gap_edges: FloatArray, changes: int, policy: SearchPolicy) -> StepPrior:
    """Where steps are expected; the arguments are those of `average_noise_models`."""
    begins, ends = gap_edges
    return StepPrior(
        gap_prior=ends - begins,
        clustering=clustering_of(begins, ends, changes),
        none=1 - constants.CLAIM_IS_TRUE if policy.claimed else constants.NO_STEP,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Round:
    """All hypotheses that were weighed with one share of far images, none of them normalised."""

    steady: tuple[Posterior, ...]
    drifting: tuple[Posterior, ...] = ()

    @property
    def top(self) -> float:
        """The best score."""
        return max(one.score for one in (*self.steady, *self.drifting))

    def scores(self, readings: Readings, far: float) -> dict[SearchNoise, float]:
        """What each noise without a drift would about score with that share of far images."""
        plain = (one for one in self.steady if _is_plain(one.noise))
        best = max(plain, key=lambda one: one.score)
        return {
            replace(one.noise, far=0.0): one.score
            + _gained(readings, one if _is_plain(one.noise) else best, far)
            for one in self.steady
        }

    def normalised(self) -> tuple[Posterior, ...]:
        """Those that are not negligible, the likeliest first."""
        top, every = self.top, (*self.steady, *self.drifting)
        kept = sorted((v for v in every if v.score > top - NEGLIGIBLE), key=lambda v: -v.score)
        total = sum(exp(v.score - top) for v in kept)
        return tuple(replace(v, weight=exp(v.score - top) / total) for v in kept)


def _is_plain(noise: SearchNoise) -> bool:
    """Whether neither boots nor images have two speeds."""
    return not noise.mode_share and not noise.other_share


def _gained(readings: Readings, under: Posterior, far: float) -> float:
    """By how much about the score of a hypothesis grows if so many images lie far off."""
    one = under.hypothesis
    other = replace(one, noise=replace(one.noise, far=far))
    scores = quick_scores(readings, [other, one], under.levels().mean)
    return float(scores[0] - scores[1])


def _given_share(
    prior_model: PriorModel, readings: Readings, far: float, before: _Round | None = None
) -> _Round:
    """All hypotheses in which so many images lie far off, less those hopeless `before`."""
    policy = prior_model.policy
    climber = Climber(prior_model=prior_model, readings=readings)
    scores = before.scores(readings, far) if before else {}
    # Two modes may explain all far better than any rung of a ladder, and are told from its best.
    on_ladders = (score for noise, score in scores.items() if _is_plain(noise))
    never = max(on_ladders, default=-np.inf) - NEGLIGIBLE - QUICK_ERROR
    ladders_left = []
    for ladder in ladders(policy, far):
        start = None if before is None else _left_of(ladder, scores, never)
        if ladder:
            ladders_left.append((ladder, start))
    found = climber.climb(ladders_left)
    best = max(found, key=lambda v: v.score)
    if may_have_modes(readings, best, best.levels(), policy):
        modes = bimodal(policy, best.hypothesis)
        found += climber.all(
            [one for one in modes if scores.get(replace(one.noise, far=0.0), never) >= never]
        )
    speeds = of_two_speeds(readings, policy, best.hypothesis)
    # Such images raise alarms themselves: a claim says less.
    prior = replace(prior_model.prior, none=max(prior_model.prior.none, constants.NO_STEP))
    unclaimed = replace(prior_model, prior=prior)
    found += Climber(prior_model=unclaimed, readings=readings).all(
        [one for one in speeds if scores.get(replace(one.noise, far=0.0), never) >= never]
    )
    drifts = np.ptp(readings.at_s) > 0 and len(readings.values) <= _DRIFT_VALUES
    if before is not None:
        drifts = any(one.score >= before.top - _NEVER for one in before.drifting)
    drifting = _drifting(prior_model, readings, best) if drifts else ()
    return _Round(steady=tuple(found), drifting=drifting)


def _left_of(ladder: list[Hypothesis], scores: dict[SearchNoise, float], never: float) -> int:
    """Take from a ladder what was hopeless and what lies beyond; the best rung of the rest."""
    was = [scores.get(replace(one.noise, far=0.0), np.nan) for one in ladder]
    climbed = np.flatnonzero(~np.isnan(was))
    likely = np.flatnonzero(np.array(was) >= never)
    if not len(likely):
        ladder.clear()
        return 0
    best = int(np.nanargmax(was))
    first = int(likely[0]) if likely[0] > climbed[0] else 0
    last = int(likely[-1]) if likely[-1] < climbed[-1] else len(ladder) - 1
    ladder[:] = ladder[first : last + 1]
    return best - first


def _drifting(
    prior_model: PriorModel, readings: Readings, best: Posterior
) -> tuple[Posterior, ...]:
    """The posteriors if the lab drifts, in each way that it may."""
    drifts = drifts_of(prior_model.policy, readings, best.hypothesis)
    return tuple(prior_model.drifting(readings, drift, best) for drift in drifts)


def may_have_modes(
    readings: Readings, under: Posterior, level: Normal, policy: SearchPolicy
) -> bool:
    """Whether boots may have two speeds: values are few, or more lie far out than should.

    `level` (m,) are those of the measured kernels.
    """
    if len(readings.values) < _FEW_VALUES:
        return True
    # A second mode may have passed for more noise than was told.
    near = _MISFIT * hypot(policy.sigma_run or under.noise.run, under.noise.build)
    away = np.abs(readings.values - level.mean[readings.place_of_value])
    return float((away > near).mean()) > _MISFIT_SHARE
