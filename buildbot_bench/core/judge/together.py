"""The judge on the series that share a budget of false alarms, as all named values of a run do.

The judge weighs a value in milliseconds, a thousand of them in seconds. So it looks at those alone
that may be worth boots, by the same evidence of a change of level (`images`) of all values at once,
with the noise as neighbours show it. k of K values are worth boots where each has evidence of K/k
or more: by that rule (e-BH, see below) calm values cause few boots, however many they are. One
alone of a thousand has it for a step of 8 % after three commits, where a lone series is suspected
at once.

The evidence of a series is an e-detector (`images`): compared with A at each commit it alarms
falsely once in A commits at most. With a budget of `alpha` alarms a commit for K series, e-BH (R.
Wang, A. Ramdas, *False discovery rate control with e-values*, Journal of the Royal Statistical
Society B 84, 2022) raises k alarms of a commit, where k is the largest number of series each of
which has evidence of K / (alpha k) or more. At each commit anew it is the e-d-BH of S.
Dandapanthula and A. Ramdas (*Multiple testing in multi-stream sequential change detection*,
arXiv:2501.04130, 2025): the expected share of false alarms, of those at the commit where you stop,
is at most `alpha` times the commits that you wait. While nothing changes, one commit in 1/alpha has
false alarms. Both hold however the series depend on each other, and the values of one boot do.
LORD and SAFFRON need independent series.

One alarm alone needs K times the evidence of a lone series (Bonferroni), K together need that.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import UnionType
from typing import Any, TypeVar

import numpy as np

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.images import Floats, log_bayes_factor
from buildbot_bench.core.judge.model import (
    Alarm,
    JudgePolicy,
    Nothing,
    Settled,
    Suspicion,
    Unfit,
    Verdict,
)
from buildbot_bench.core.judge.segment import noise_by_marks
from buildbot_bench.core.metric import NamedRun, NamedRuns
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.model.thresholds import change_in_logs
from buildbot_bench.core.sample import Iteration, Sample

_FEW = 8  # images; of fewer the noise between neighbours is a guess, and all values are judged
_LEAST_NOISE = 0.85  # of the noise between neighbours: the judge's own estimate is hardly less
_LEAST_SIGMA = 1e-6  # of values that are counted
_KNOWN_DF = 1e6
_NORMAL = 0.6745 * 2**0.5  # the median of |a - b| in standard deviations of a and b
_REACH = 2.576  # standard errors, as in `images`


def judge_named(
    named: NamedRuns,
    policy: JudgePolicy,
    settled: Mapping[str, Sequence[Settled]],
    suspected: Collection[str] = (),
    raised: int = 0,
) -> dict[str, Verdict]:
    """Return the verdicts on the newest image's values, by name; of calm ones there is none.

    `policy` has the series that share the budget, all values among them; `settled` is what was
    dealt with by name. Where values are `suspected` already, those alone are judged, beside the
    `raised` alarms of the commit. There is no verdict on values that are unfit, either.
    """
    names = {metric.name: place for place, metric in enumerate(named.metrics)}
    chosen = [name for name in suspected if name in names] or _worth_a_look(named, settled, policy)
    noises: dict[str, Noise] = {}

    def worth(together: int) -> float:
        return len(names) / min(max(together + raised, 1), len(names))

    @cache
    def judged(name: str, together: int, worth: float) -> Verdict:
        history, new = _parted(_samples(named, names[name]))
        its = settled.get(name, ())
        if name not in noises:  # of a thousand values the samples would take much memory
            _, noises[name] = noise_by_marks(history, its)
        terms = replace(policy, together=together + raised, worth_boots=worth)
        return judge(history, new, noises[name], terms, its)

    looked = judge_together(chosen, lambda name, k: judged(name, k, worth(k)), Alarm | Suspicion)
    doubtful = [
        name
        for name, verdict in looked.items()
        if not (is_calm(verdict) or isinstance(verdict, Unfit))
    ]
    if not any(isinstance(verdict, Alarm) for verdict in looked.values()):
        return {name: looked[name] for name in (chosen if suspected else doubtful)}
    least = worth(len(doubtful))
    verdicts = judge_together(doubtful, lambda name, k: judged(name, k, least))
    return looked | verdicts if suspected else verdicts


def _parted(samples: Sequence[Sample]) -> tuple[list[Sample], Sample]:
    """The history of the newest sample in its epoch, and that sample."""
    own = [one for one in samples if one.epoch == samples[-1].epoch]
    new = next(one for one in own if one.position == samples[-1].position)
    return [one for one in own if one is not new], new


def _samples(named: NamedRuns, place: int) -> list[Sample]:
    """The samples of the `place`th value."""
    groups: dict[tuple[int, int, str], list[NamedRun]] = {}
    for run in named.runs:
        groups.setdefault((run.position, run.image, run.epoch), []).append(run)
    metric = replace(named.metrics[place], name=f"value {named.metrics[place].name}")
    return [
        Sample(
            label=runs[0].label,
            position=position,
            image=image,
            testbed=named.testbed,
            workload=named.workload,
            epoch=epoch,
            metric=metric,
            iterations=tuple(
                Iteration(value=value, at_s=run.at_s)
                for run in runs
                if 0 < (value := run.values[place]) < math.inf
            ),
        )
        for (position, image, epoch), runs in groups.items()
    ]


def _worth_a_look(
    named: NamedRuns, settled: Mapping[str, Sequence[Settled]], policy: JudgePolicy
) -> list[str]:
    """The names of values whose evidence may be worth boots, in their order."""
    found = _log_evidence(named, settled, policy.min_effect)
    needed = np.log(len(found) / np.arange(1, len(found) + 1))
    enough = np.flatnonzero(np.sort(found)[::-1] >= needed)
    least = needed[enough[-1]] if enough.size else np.inf
    return [one.name for one, own in zip(named.metrics, found, strict=True) if own >= least]


def deviations(named: NamedRuns) -> tuple[list[NamedRun], list[list[int | None]]]:
    """Return the images of the newest epoch, and by value how far each lies from their median.

    The unit is one thousandth of the median; None where an image gave no value.
    """
    runs, levels, given = _levels(named)
    known = np.where(given, levels, np.nan)
    known[:, ~given.any(axis=0)] = 0.0
    off = np.rint(1e3 * np.expm1(np.clip(known - np.nanmedian(known, axis=0), -9.0, 9.0)))
    rows = np.where(given, np.nan_to_num(off), np.nan).T.tolist()
    return runs, [[None if one != one else int(one) for one in row] for row in rows]  # noqa: PLR0124 - NaN


def _levels(named: NamedRuns) -> tuple[list[NamedRun], Floats, np.ndarray[Any, np.dtype[np.bool_]]]:
    """The first run of each image of the newest epoch, its mean logs, and which values it gave."""
    epoch = named.runs[-1].epoch
    runs = [run for run in named.runs if run.epoch == epoch]
    keys = np.array([(run.position, run.image) for run in runs])
    starts = np.flatnonzero(np.any(np.diff(keys, axis=0, prepend=-1) != 0, axis=1))
    values = np.array([run.values for run in runs])
    is_known = (values > 0) & np.isfinite(values)
    logs = np.log(np.where(is_known, values, 1.0))
    boots = np.add.reduceat(is_known, starts, axis=0)
    levels = np.add.reduceat(np.where(is_known, logs, 0.0), starts, axis=0) / np.maximum(boots, 1)
    return [runs[start] for start in starts], levels, boots > 0


def _log_evidence(
    named: NamedRuns, settled: Mapping[str, Sequence[Settled]], min_effect: float
) -> Floats:
    """That of a change of each value, at the likeliest of the newest places."""
    runs, levels, given = _levels(named)
    images, values = levels.shape
    if images < _FEW:
        return np.full(values, np.inf)
    steps = np.where(given[1:] & given[:-1], np.abs(np.diff(levels, axis=0)), np.nan)
    steps[:, np.isnan(steps).all(axis=0)] = 0.0
    sigma = np.maximum(_LEAST_NOISE * np.nanmedian(steps, axis=0) / _NORMAL, _LEAST_SIGMA)
    began = np.array(
        [max((o.began for o in settled.get(m.name, ())), default=0) for m in named.metrics]
    )
    first = np.maximum(
        np.searchsorted([run.position for run in runs], began), images - constants.MEMORY
    )
    first = np.maximum(first, 0)
    count, total = (
        np.concatenate((np.zeros((1, values)), np.cumsum(one, axis=0)))
        for one in (given, np.where(given, levels, 0.0))
    )
    here = np.arange(values)
    found = np.full(values, -np.inf)
    for place in range(max(images - constants.RECENT, 1), images):
        before, after = count[place] - count[first, here], count[-1] - count[place]
        seen = (before > 0) & (after > 0) & (first < place)
        before, after = np.where(seen, before, 1.0), np.where(seen, after, 1.0)
        old = (total[place] - total[first, here]) / before
        difference = np.abs((total[-1] - total[place]) / after - old)
        variance = sigma**2 * (1 / before + 1 / after)
        seen &= difference + _REACH * np.sqrt(variance) >= change_in_logs(min_effect)
        evidence = log_bayes_factor(difference, variance, np.asarray(_KNOWN_DF), min_effect)
        found = np.where(seen, np.maximum(found, evidence), found)
    return found


Series = TypeVar("Series", bound=Hashable)


def judge_together(
    series: Iterable[Series],
    judged: Callable[[Series, int], Verdict],
    counted: type[Alarm] | UnionType = Alarm,
) -> dict[Series, Verdict]:
    """Return the verdicts on one commit, or on all images and boots of it so far, in each series.

    `judged` gives the verdict by a policy with `together` alarms of the commit and with all series
    that share the budget, also those without this commit. The order of `series` does not matter.
    The verdicts that are `counted` share it: with suspicions, those that are worth more boots.
    """
    doubtful = list(series)
    verdicts: dict[Series, Verdict] = {}
    together = max(len(doubtful), 1)
    while True:
        verdicts |= {one: judged(one, together) for one in doubtful}
        alarms = max(sum(isinstance(one, counted) for one in verdicts.values()), 1)
        if alarms >= together:
            return verdicts
        together = alarms
        doubtful = [one for one in doubtful if not is_calm(verdicts[one])]


def is_calm(verdict: Verdict) -> bool:
    """Return whether it is the same where more evidence is needed."""
    return isinstance(verdict, Nothing) and verdict.began is None
