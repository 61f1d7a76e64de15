"""Hypotheses of the noise weighed against each other by the evidence: one, two modes, a drift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import exp, hypot, log1p

import numpy as np

from buildbot_bench.core.search.expectation import CLAIM_IS_TRUE
from buildbot_bench.core.search.ground import Ground
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import (
    DRIFT_SD,
    DRIFT_WEIGHT,
    Hypothesis,
    bimodal,
    ladders,
    narrow,
)
from buildbot_bench.core.search.partition import StepPrior, in_company
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.views import Scene, View

# Where nothing is claimed: the probability that nothing changed in the range.
_NO_STEP = 0.5
# Hypotheses whose posterior is this much (in ln) below the best one's are forgotten.
_NEGLIGIBLE = 7.0
# A ladder that starts this far below the best is not climbed.
_HOPELESS = 14.0
# Two modes are thought of while values are few, or when this share lies beyond so many deviations.
_FEW_VALUES = 25
_MISFIT = 2.2  # deviations
_MISFIT_SHARE = 0.07  # of the values; of a normal's 2.8 % lie as far off
# With more values than this a drift averages out, and the cube of their number would be waited for.
_DRIFT_VALUES = 400


def weigh(ground: Ground, readings: Readings, policy: SearchPolicy) -> tuple[View, ...]:
    """All hypotheses that the evidence leaves standing, the likeliest first; weights sum to 1."""
    mass = ground.mass[readings.kernels]
    scene = Scene(
        prior=StepPrior(
            gap_mass=np.diff(mass),
            company=in_company(mass, ground.changes),
            none=1 - CLAIM_IS_TRUE if policy.claimed else _NO_STEP,
        ),
        claimed=log1p(policy.claimed) if policy.claimed else 0.0,
        policy=policy,
    )
    view = partial(scene.view, readings)
    found: list[View] = []
    at: int | None = None
    for ladder in ladders(policy):
        hope = max((v.score for v in found), default=-np.inf) - _HOPELESS
        climbed = _climb(view, ladder, len(ladder) // 2 if at is None else at, hope)
        at = max(climbed, key=lambda i: climbed[i].score)
        found += climbed.values()
    best = max(found, key=lambda v: v.score)
    if may_have_modes(readings, best, policy):
        found += [view(hypothesis) for hypothesis in bimodal(policy, best.hypothesis)]
    if np.ptp(readings.at_s) > 0 and len(readings.values) <= _DRIFT_VALUES:
        found.append(_drifting(scene, readings, best))
    return _normalised(found)


def _drifting(scene: Scene, readings: Readings, best: View) -> View:
    """The posterior if the lab drifts."""
    alone = narrow(scene.policy, best.hypothesis)
    drifts = replace(alone, weight=DRIFT_WEIGHT * alone.weight)
    return scene.drifting(readings, drifts, DRIFT_SD * alone.noise.run, best)


def _climb(
    view: Callable[[Hypothesis], View], ladder: list[Hypothesis], start: int, hope: float
) -> dict[int, View]:
    """Views from the rung `start` outward, both ways, until they are negligible.

    Nothing but the first, when its score is below `hope`.
    """
    climbed = {start: view(ladder[start])}
    if climbed[start].score < hope:
        return climbed
    for direction in (1, -1):
        best = climbed[start].score
        rung = start + direction
        while 0 <= rung < len(ladder):
            climbed[rung] = view(ladder[rung])
            best = max(best, climbed[rung].score)
            if climbed[rung].score < best - _NEGLIGIBLE:
                break
            rung += direction
    return climbed


def may_have_modes(readings: Readings, view: View, policy: SearchPolicy) -> bool:
    """Whether boots may have two speeds: values are few, or more lie far out than should."""
    if len(readings.values) < _FEW_VALUES:
        return True
    # A second mode may have passed for more noise than was told.
    near = _MISFIT * hypot(policy.sigma_run or view.noise.run, view.noise.build)
    away = np.abs(readings.values - view.levels()[0][readings.place_of_value])
    return float((away > near).mean()) > _MISFIT_SHARE


def _normalised(views: list[View]) -> tuple[View, ...]:
    top = max(v.score for v in views)
    kept = sorted((v for v in views if v.score > top - _NEGLIGIBLE), key=lambda v: -v.score)
    total = sum(exp(v.score - top) for v in kept)
    return tuple(replace(v, weight=exp(v.score - top) / total) for v in kept)
