"""Ladders of noise hypotheses (one mode, two modes, a drift), climbed and weighed by the evidence.

Around levels x that another hypothesis found, the values of an image of n boots have, by Laplace's
method, about the likelihood

    Π p(y | b) · sqrt(2 pi run² / n) · ((1 - f) N(b - x; 0, build² + run² / n) + f far r(b - x))

where b, the image's level, is their median. The neglected uncertainty of the levels is nearly the
same under similar hypotheses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, hypot, log, log1p

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.drift import drifts_of
from buildbot_bench.core.search.likelihood import SharedTerms
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import (
    Hypothesis,
    Readings,
    SearchNoise,
    bimodal,
    ladders,
)
from buildbot_bench.core.search.partition import Normal, StepPrior, clustering_of
from buildbot_bench.core.search.posterior import Posterior, PriorModel
from buildbot_bench.core.search.search_range import FloatArray
from buildbot_bench.core.search.two_speeds import (
    far_density,
    far_images,
    of_two_speeds,
    posterior_share,
    prior_share,
    reach,
    without_speeds,
)


def quick_scores(
    readings: Readings, hypotheses: Sequence[Hypothesis], level: FloatArray
) -> FloatArray:
    """The logarithm of each one's prior times its evidence, about, less one constant, (H,).

    `level` (m,) are those of the measured kernels. Hypotheses have no modes.
    """
    return np.array([log(one.weight) + _log(readings, one.noise, level) for one in hypotheses])


def _log(readings: Readings, noise: SearchNoise, level: FloatArray) -> float:
    boots = readings.boots_of_image
    off = readings.level_of_image - level[readings.place]
    outlier = constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
    near = _normal(off, noise.build**2 + noise.run**2 / boots)
    single = boots == 1
    near = np.where(single, (1 - constants.OUTLIER_SHARE) * near + outlier, near)
    density = (1 - noise.far) * near
    if noise.far:
        density += noise.far * far_density(readings, noise) * reach(off)
    within = readings.values - np.repeat(readings.level_of_image, boots)
    of_boot = (1 - constants.OUTLIER_SHARE) * _normal(within, noise.run**2) + outlier
    several = np.log(of_boot[np.repeat(~single, boots)]).sum()
    several += 0.5 * np.log(2 * np.pi * noise.run**2 / boots[~single]).sum()
    return float(np.log(np.maximum(density, 1e-300)).sum() + several)


def _normal(away: FloatArray, variance: float | FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * away * away / variance) / np.sqrt(2 * np.pi * variance)
    return density


# Hypotheses whose posterior is this much (in ln) below the best one's are forgotten.
NEGLIGIBLE = 7.0
# A quick score may be off by so much, and by one level's uncertainty for each measured kernel.
QUICK_ERROR = 10.0
# A ladder that starts this far below the best is not climbed.
_HOPELESS = 14.0
# Values from which on hypotheses are screened; below, so many values times hypotheses are weighed
# together: all rungs of a ladder of so few, before it is known whether they are climbed. Measured.
_MANY_VALUES, _VALUES_AT_ONCE, _SHORT = 48, 500, 5

Ladder = list[Hypothesis]


@dataclass(kw_only=True, slots=True)
class Climber:
    """The posteriors under hypotheses of the noise, each computed once, or not if negligible."""

    prior_model: PriorModel
    readings: Readings
    _known: dict[Hypothesis, Posterior] = field(default_factory=dict)

    @property
    def _has_many(self) -> bool:
        return len(self.readings.values) >= _MANY_VALUES

    def climb(self, ladders: Sequence[tuple[Ladder, int | None]]) -> list[Posterior]:
        """Climb each ladder from its rung.

        Where that is None, from the likeliest before anything is measured, and ladders that follow
        from the one that was best on the ladder before.
        """
        starts = [self._first(ladder) if start is None else start for ladder, start in ladders]
        if not self._has_many:
            self.all([one for ladder, _ in ladders if len(ladder) <= _SHORT for one in ladder])
        found: dict[Hypothesis, Posterior] = {}
        before: int | None = None
        for (ladder, start), likeliest in zip(ladders, starts, strict=True):
            first = likeliest if start is not None or before is None else before
            best = max(found.values(), key=lambda one: one.score, default=None)
            if best is not None and self._is_negligible(ladder[first], best):
                continue
            hope = -float("inf") if best is None else best.score - _HOPELESS
            climbed = self._climb(ladder, first, hope)
            before = ladder.index(max(climbed, key=lambda one: climbed[one].score))
            found |= climbed
        return list(found.values())

    def _first(self, ladder: Ladder) -> int:
        """The rung of a given run noise; else the likeliest before anything is measured."""
        told = self.prior_model.policy.sigma_run
        if told is None:
            return max(range(len(ladder)), key=lambda rung: ladder[rung].weight)
        return min(range(len(ladder)), key=lambda rung: abs(ladder[rung].noise.run - told))

    def all(self, hypotheses: Sequence[Hypothesis]) -> list[Posterior]:
        """The posteriors under several."""
        new = [one for one in hypotheses if one not in self._known]
        together = max(_VALUES_AT_ONCE // len(self.readings.values), 1)
        for first in range(0, len(new), together):
            some = new[first : first + together]
            found = self.prior_model.given(self.readings, some)
            self._known.update(zip(some, found, strict=True))
        return [self._known[one] for one in hypotheses]

    def _climb(self, ladder: Ladder, start: int, hope: float) -> dict[Hypothesis, Posterior]:
        """From the rung `start` outward, both ways; nothing but it, when it is below `hope`."""
        (first,) = self.all([ladder[start]])
        climbed = {ladder[start]: first}
        if first.score < hope:
            return climbed
        for rungs in (ladder[start + 1 :], ladder[:start][::-1]):
            best = first
            for rung in rungs:
                if self._is_negligible(rung, best):
                    break
                (one,) = self.all([rung])
                climbed[rung] = one
                best = max(best, one, key=lambda other: other.score)
                if one.score < best.score - NEGLIGIBLE:
                    break
        return climbed

    def _is_negligible(self, hypothesis: Hypothesis, best: Posterior) -> bool:
        """Whether it is surely so much less likely than another, for all that a quick score says.

        The levels that the other found fit it best; under this one there may be others, each worth
        as much as one's uncertainty is more or less.
        """
        if not self._has_many or hypothesis in self._known:
            return False
        level = best.levels().mean
        score, other = quick_scores(self.readings, [hypothesis, best.hypothesis], level)
        ratio = abs(log(hypothesis.noise.total / best.noise.total))
        error = QUICK_ERROR + len(self.readings.kernels) * ratio
        return bool(score < other - NEGLIGIBLE - error)


# A drift that was so far below the best does not come up when the share of far images is learnt.
_NEVER = 30.0
# The share of far images is learnt anew where so many times what was presumed are seen.
_MORE_FAR = 1.3
# Two modes are thought of while values are few, or when this share lies beyond so many deviations.
_FEW_VALUES = 25
_MISFIT = 2.2  # deviations
_MISFIT_SHARE = 0.07  # of the values; of a normal's 2.8 % lie as far off


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
    drifts = bool(np.ptp(readings.at_s) > 0)
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
