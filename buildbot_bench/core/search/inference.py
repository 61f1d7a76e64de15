"""The posterior of steps and of the ends' difference, over noise hypotheses and folded kernels.

The posterior over all partitions of m kernels takes a time of m² and more. Kernels around gaps
without evidence for a step are weighed as one place; a gap is kept where a step may be:

* The kernels are cut where a cut explains most, again and again (binary segmentation: Scott &
  Knott, Biometrics 30 (1974)), also at both ends of a run that lies off (circular binary
  segmentation: Olshen et al., Biostatistics 5 (2004)). z² is twice the ln of the likelihood ratio
  of the cut. Gaps that explain nearly as much as the best one are kept.
* Between cuts, gaps are kept whose z² is that of three standard deviations, as a cut or as the end
  of a run of 1, 2, 4, … kernels: the prior of a step in one of hundreds of gaps outweighs less.

Values count as at most four deviations off, so that an outlier moves no cut. At most _MOST gaps are
kept, those that explain most, which bounds the time for any evidence.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log, log1p

import numpy as np
from scipy.special import ndtr

from buildbot_bench.core.model import thresholds
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_average import average_noise_models, may_have_modes
from buildbot_bench.core.search.noise_model import Readings, ladders
from buildbot_bench.core.search.partition import Normal
from buildbot_bench.core.search.posterior import Posterior, moments
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, IntArray, SearchRange
from buildbot_bench.core.search.two_speeds import without_speeds

_FEW = 60  # kernels; chosen for speed: fewer are not folded
_MOST = 150  # kept gaps; chosen for speed
_KEPT = 9.0  # z²; chosen: three standard deviations, as one value in 370 is off by chance
_SURE = 1e6  # more than any z²: gaps that may be where a cut is come before all others
_CUT = 25.0  # z²; e^12.5 makes a cut likely where its prior is 1e-5
_RUN_CUT = 40.0  # z² of both ends of a run together
_UNSURE = 24.0  # z² by which the place of a cut may explain less than the best: e^-12
_CLIPPED = 4.0  # standard deviations
_MAD = 1.482602  # a normal's standard deviation over the median of its absolute values
_MAD_ERRORS = 2.6  # two standard errors of ln(_MAD · median) of one difference; of n: over √n
_LEAST_KERNELS = 2  # so few can be cut
_LEAST_SCALE = 1e-12  # ln; so that values that all repeat do not divide by 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """`place` (m,): the folded place of each measured kernel; `gaps` (f - 1,): those kept."""

    place: IntArray
    gaps: IntArray

    def readings(self, readings: Readings) -> Readings:
        """The same values of f places; the first kernel of each stands for it."""
        first = np.append(0, self.gaps + 1)
        return replace(
            readings,
            kernels=readings.kernels[first],
            place=self.place[readings.place],
            place_of_value=self.place[readings.place_of_value],
        )

    def of_gaps(self, values: FloatArray, elsewhere: float) -> FloatArray:
        """What is known of the kept gaps, (…, f - 1), for all gaps: (…, m - 1)."""
        every = np.full((*values.shape[:-1], len(self.place) - 1), elsewhere)
        every[..., self.gaps] = values
        return every


def fold(readings: Readings, policy: SearchPolicy) -> Fold:
    """Which kernels are weighed as one place."""
    m = len(readings.kernels)
    if m <= _FEW:
        return _of(np.ones(m - 1, dtype=bool))
    boots = np.bincount(readings.place_of_value).astype(float)
    weight = readings.boots_of_image * readings.level_of_image
    mean = np.bincount(readings.place, weight) / boots
    worth = _worth(mean / max(_scale(mean, boots, policy), _LEAST_SCALE), boots)
    # What is claimed speaks of the ends: they stand alone.
    worth[[0, -1]] = np.inf
    kept = worth > _KEPT
    kept[np.argsort(-worth, kind="stable")[_MOST:]] = False
    return _of(kept)


def _of(kept: BoolArray) -> Fold:
    return Fold(place=np.append(0, np.cumsum(kept)), gaps=np.flatnonzero(kept))


def _scale(mean: FloatArray, boots: FloatArray, policy: SearchPolicy) -> float:
    """The least that the deviation of single boots may be: as neighbours differ, less its error.

    No wider than that of any hypothesis.
    """
    apart = np.diff(mean) / np.sqrt(1 / boots[1:] + 1 / boots[:-1])
    widest = max(one.noise.total for ladder in ladders(policy) for one in ladder)
    least = 1 + _MAD_ERRORS / np.sqrt(len(apart))
    return min(_MAD * float(np.median(np.abs(apart))) / float(least), widest)


def _worth(mean: FloatArray, boots: FloatArray) -> FloatArray:
    """How much a step in each gap explains, as z²; `mean` in standard deviations of a boot."""
    worth = np.zeros(len(mean) - 1)
    todo = [(0, len(mean))]
    while todo:
        first, last = todo.pop()
        if last - first < _LEAST_KERNELS:
            continue
        weight = boots[first:last]
        away = mean[first:last] - np.median(mean[first:last])
        sd = 1 / np.sqrt(weight)
        away = np.clip(away, -_CLIPPED * sd, _CLIPPED * sd)
        here = worth[first : last - 1]
        cuts = _cut(away, weight, here) or _cut_run(away, weight, here)
        edges = [first, *(first + 1 + gap for gap in cuts), last]
        if cuts:
            todo += pairwise(edges)
    return worth


def _cut(away: FloatArray, weight: FloatArray, worth: FloatArray) -> list[int]:
    """The gap at which a cut explains most, if it explains enough; raises what gaps are worth."""
    before = np.cumsum(weight)[:-1]
    total = weight.sum()
    off = np.cumsum(weight * away)[:-1] - before * (weight @ away) / total
    score = off * off * total / (before * (total - before))
    best = int(np.argmax(score))
    is_cut = score[best] > _CUT
    if is_cut:
        may_be_it = score > score[best] - _UNSURE
        worth[may_be_it] = _SURE + score[may_be_it] - score[best]
    else:
        np.maximum(worth, score, out=worth)
    return [best] if is_cut else []


def _cut_run(away: FloatArray, weight: FloatArray, worth: FloatArray) -> list[int]:
    """The gaps around the run of kernels that lies off most, if that is enough; likewise."""
    centred = away - (weight @ away) / weight.sum()
    best, cuts = _RUN_CUT, []
    for length, score in _runs(centred, weight):
        np.maximum(worth[: len(score) - 1], score[1:], out=worth[: len(score) - 1])
        np.maximum(worth[length - 1 :], score[:-1], out=worth[length - 1 :])
        at = int(np.argmax(score))
        if score[at] > best:
            best = float(score[at])
            cuts = [gap for gap in (at - 1, at + length - 1) if 0 <= gap < len(worth)]
    return cuts


def _runs(centred: FloatArray, weight: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """For 1, 2, 4, … kernels the z² of each run of so many."""
    sums, weights = (np.append(0.0, np.cumsum(x)) for x in (weight * centred, weight))
    length = 1
    while length <= len(centred) // 2:
        off = sums[length:] - sums[:-length]
        yield length, off * off / (weights[length:] - weights[:-length])
        length *= 2


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
