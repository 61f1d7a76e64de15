"""What the evidence says, over all hypotheses of the noise, of steps and of the ends.

It answers questions of probability; what to do about them is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

import numpy as np
from scipy.special import ndtr

from buildbot_bench.core.search.ground import FloatArray, Ground
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.views import View, moments
from buildbot_bench.core.search.weighing import may_have_modes, weigh

# A step counts as relevant from this share of min_effect: a true min_effect must not be missed.
_RELEVANT_SHARE = 0.75
# Without a claim, ends that differ by less than this share of min_effect count as equal; with a
# claim, those that differ by less than half of it.
_SOUGHT_SHARE = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class Belief:
    """(m - 1,) arrays over the gaps between measured kernels.

    `step`: P(a step there); `relevant`: P(one there that is large enough to be reported);
    `further`: P(one there that must be reported beside others); `sought`: P(one there as large as
    what is searched for); `change` and `change_sd`: ln(new level / old level) given a step.
    `ends_differ`: P(the ends' levels differ by what is searched for). `may_have_modes`: whether
    boots may have two speeds, for all that was seen.
    """

    readings: Readings
    views: tuple[View, ...]
    step: FloatArray
    relevant: FloatArray
    further: FloatArray
    sought: FloatArray
    change: FloatArray
    change_sd: FloatArray
    ends_differ: float
    may_have_modes: bool


def believe(ground: Ground, readings: Readings, policy: SearchPolicy) -> Belief:
    """Mix what each hypothesis of the noise says; at least two kernels must have been measured."""
    views = weigh(ground, readings, policy)
    change = np.array([view.change.mean for view in views])
    variance = np.array([view.change.variance for view in views])
    share = np.array([view.weight * view.partition.step for view in views])
    mean, spread = moments(share, change, variance, axis=0)
    relevant, sought = log1p(relevant_effect(policy)), log1p(sought_effect(policy))
    further = log1p(_RELEVANT_SHARE * policy.min_effect)
    return Belief(
        readings=readings,
        views=views,
        step=share.sum(axis=0),
        relevant=(share * _beyond(change, variance, relevant)).sum(axis=0),
        further=(share * _beyond(change, variance, further)).sum(axis=0),
        sought=(share * _beyond(change, variance, sought)).sum(axis=0),
        change=mean,
        change_sd=np.sqrt(spread),
        ends_differ=sum(view.weight * _ends_differ(view, sought) for view in views),
        may_have_modes=may_have_modes(readings, views[0], policy),
    )


def relevant_effect(policy: SearchPolicy) -> float:
    """The least effect, as a fraction, that the search does not let pass."""
    wanted = policy.min_effect
    if policy.claimed:
        wanted = min(wanted, abs(policy.claimed))
    return _RELEVANT_SHARE * wanted


def sought_effect(policy: SearchPolicy) -> float:
    """The least effect whose absence makes a search "not reproduced"."""
    if policy.claimed is None:
        return _SOUGHT_SHARE * policy.min_effect
    return max(relevant_effect(policy), 0.5 * abs(policy.claimed))


def _beyond(change: FloatArray, variance: FloatArray, threshold: float) -> FloatArray:
    """P(|x| ≥ threshold) of a normal x."""
    sd = np.sqrt(np.maximum(variance, 1e-18))
    beyond: FloatArray = ndtr((change - threshold) / sd) + ndtr((-change - threshold) / sd)
    return beyond


def _ends_differ(view: View, threshold: float) -> float:
    """P(the levels of the two ends differ by the threshold): none of it if there is no step."""
    weight = view.partition.stretch.copy()
    same = weight[0, -1]
    weight[0, -1] = 0.0
    mean, variance = view.stretches.mean, view.stretches.variance
    old = moments(weight[:1], mean[:1], variance[:1], axis=1)
    new = moments(weight[:, -1:], mean[:, -1:], variance[:, -1:], axis=0)
    beyond = _beyond(new[0] - old[0], new[1] + old[1], threshold)
    return (1.0 - float(same)) * float(beyond[0])
