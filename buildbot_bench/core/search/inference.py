"""The posterior of steps and of the ends' difference, averaged over noise hypotheses."""

from dataclasses import dataclass
from math import log, log1p

import numpy as np
from scipy.special import ndtr

from buildbot_bench.core.model import thresholds
from buildbot_bench.core.search.fold import Fold, fold
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_average import average_noise_models, may_have_modes
from buildbot_bench.core.search.posterior import Posterior, moments
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.search_range import FloatArray, SearchRange
from buildbot_bench.core.search.segments import Normal
from buildbot_bench.core.search.two_speeds import without_speeds


@dataclass(frozen=True, kw_only=True, slots=True)
class AveragedPosterior:
    """(m - 1,) arrays over the gaps between measured kernels.

    `step`: P(a step there); `relevant`: P(one there that is large enough to be reported);
    `further`: P(one there that must be reported beside others); `sought`: P(one there as large as
    what is searched for); `change` and `change_sd`: ln(new level / old level) given a step.
    `level` (m,) is that of each measured kernel by the likeliest hypothesis.
    `ends_differ`: P(the ends' levels differ by what is searched for). `may_have_modes`: whether
    boots may have two speeds, for all that was seen. `seen` are the readings less what the speeds
    of images add, where the likeliest hypothesis has two. `speeds_without_step`: P(the images have
    two speeds, and no step is there). `models` speak of the places of `fold`.
    """

    readings: Readings
    seen: Readings
    models: tuple[Posterior, ...]
    step: FloatArray
    relevant: FloatArray
    further: FloatArray
    sought: FloatArray
    change: FloatArray
    change_sd: FloatArray
    level: Normal
    ends_differ: float
    speeds_without_step: FloatArray
    may_have_modes: bool
    fold: Fold

    @property
    def log_evidence(self) -> float:
        """Ln of the prior times the evidence, summed over all hypotheses."""
        return self.models[0].score - log(self.models[0].weight)

    @property
    def two_speeds(self) -> float:
        """P(the images have two speeds)."""
        return sum(one.weight for one in self.models if one.noise.other_share)


def infer(search_range: SearchRange, readings: Readings, policy: SearchPolicy) -> AveragedPosterior:
    """Mix what each hypothesis of the noise says; at least two kernels must have been measured."""
    folded = fold(readings, policy)
    prior_cdf = search_range.prior_cdf[readings.kernels]
    edges = np.array([prior_cdf[folded.gaps], prior_cdf[folded.gaps + 1]])
    models = average_noise_models(folded.readings(readings), edges, search_range.changes, policy)
    level = models[0].levels()
    level = Normal(mean=level.mean[folded.place], variance=level.variance[folded.place])
    change = folded.of_gaps(np.array([one.change.mean for one in models]), 0.0)
    variance = folded.of_gaps(np.array([one.change.variance for one in models]), 0.0)
    share = folded.of_gaps(np.array([one.weight * one.partition.step for one in models]), 0.0)
    mean, spread = moments(share, change, variance, axis=0)
    speeds = np.array([one.weight if one.noise.other_share else 0.0 for one in models])
    relevant, sought = log1p(policy.relevant_effect), log1p(policy.sought_effect)
    further = log1p(thresholds.relevant_effect(policy.min_effect, None))
    return AveragedPosterior(
        readings=readings,
        seen=without_speeds(readings, models[0].noise, level.mean),
        models=models,
        step=share.sum(axis=0),
        relevant=(share * _beyond(change, variance, relevant)).sum(axis=0),
        further=(share * _beyond(change, variance, further)).sum(axis=0),
        sought=(share * _beyond(change, variance, sought)).sum(axis=0),
        change=mean,
        change_sd=np.sqrt(spread),
        level=level,
        ends_differ=sum(one.weight * _ends_differ(one, sought) for one in models),
        speeds_without_step=speeds.sum() - share[speeds > 0].sum(axis=0),
        may_have_modes=may_have_modes(readings, models[0], level, policy),
        fold=folded,
    )


def _beyond(change: FloatArray, variance: FloatArray, threshold: float) -> FloatArray:
    """P(|x| ≥ threshold) of a normal x."""
    sd = np.sqrt(np.maximum(variance, 1e-18))
    beyond: FloatArray = ndtr((change - threshold) / sd) + ndtr((-change - threshold) / sd)
    return beyond


def _ends_differ(under: Posterior, threshold: float) -> float:
    """P(the levels of the two ends differ by the threshold): none of it if there is no step."""
    weight = under.partition.stretch.copy()
    same = weight[0, -1]
    weight[0, -1] = 0.0
    mean, variance = under.stretches.mean, under.stretches.variance
    old = moments(weight[:1], mean[:1], variance[:1], axis=1)
    new = moments(weight[:, -1:], mean[:, -1:], variance[:, -1:], axis=0)
    beyond = _beyond(new[0] - old[0], new[1] + old[1], threshold)
    return (1.0 - float(same)) * float(beyond[0])
