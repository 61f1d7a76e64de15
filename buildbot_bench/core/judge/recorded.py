"""The judge on a whole series that was measured elsewhere, where nothing can be measured again.

Each revision is judged by what came before it, as on a farm. Boots that the judge asks for are
taken from the neighbours: those of the new revision from the revisions after it, those of the old
side from others before the change, the earlier ones first. So it reports a change a few revisions
late, and none that the next revisions do not show.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from statistics import median
from types import MappingProxyType

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import (
    Alarm,
    JudgePolicy,
    Remeasure,
    Settled,
    Suspicion,
    Unfit,
    Verdict,
    settled_by,
)
from buildbot_bench.core.judge.together import judge_together
from buildbot_bench.core.metric import Metric
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.sample import Iteration, Sample

_WINDOW = 200
"""Revisions before the one that is judged. Chosen: the noise of 200 is known to 5 % of itself, and
the judge compares no more than constants.MEMORY of them; with all of them a series of thousands
takes the square of its length."""
_MOST_LENT = 64
"""Revisions after one whose values may be lent to it: _MAX_ROUNDS times a round's boots, rounded
up (core/judge/rounds.py asks for twice `fresh` at most in all)."""
_MAX_ROUNDS = 12
"""Of questions about one revision, as on a farm (plugin/broker/follow_ups.py)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedPoint:
    """The values of one revision, in the order in which they were measured."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A series, oldest revision first."""

    name: str
    metric: Metric
    points: tuple[RecordedPoint, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What is said of the `place`th revision, and of those to the `last` that showed an alarm."""

    place: int
    last: int
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedSeries:
    """A series with a verdict on each revision but the first, and by which policy."""

    series: Recorded
    policy: JudgePolicy
    verdicts: tuple[Judged, ...]

    @property
    def alarms(self) -> Sequence[tuple[int, Alarm]]:
        """Where each change was seen, and what is known of it."""
        return [(o.place, o.verdict) for o in self.verdicts if isinstance(o.verdict, Alarm)]

    @property
    def suspicion(self) -> Suspicion | None:
        """What the last revisions may hold; later ones would show it."""
        last = self.verdicts[-1].verdict if self.verdicts else None
        return last if isinstance(last, Suspicion) else None

    @property
    def unfit(self) -> str:
        """Why no change can be seen at the end of the series, if none can."""
        last = self.verdicts[-1].verdict if self.verdicts else None
        if last is None:
            return "one revision alone has no change"
        return last.reason if isinstance(last, Unfit) else ""


def judge_recorded(
    series: Sequence[Recorded],
    policy: JudgePolicy,
    earlier: Mapping[int, Sequence[Judged]] = MappingProxyType({}),
) -> Iterator[tuple[int, Judged]]:
    """The verdict on each revision but the first, in their order, of each series by its number.

    Series that have a revision are judged together there (`together`). `earlier` verdicts of each
    series are given again. A suspicion that stays one wants more revisions than the series has.
    """
    courses = [_Course(one, policy, earlier.get(number, ())) for number, one in enumerate(series)]
    for at in _revisions(series):
        due = [number for number, place in at.items() if place == courses[number].place]

        def judged(number: int, together: int) -> Verdict:
            return courses[number].judge(together).verdict

        for number in judge_together(due, judged):
            yield number, courses[number].keep()


class _Course:
    """A series while it is judged, revision by revision; `place` is the next one's."""

    def __init__(self, series: Recorded, policy: JudgePolicy, earlier: Sequence[Judged]) -> None:
        usual = median(len(point.values) for point in series.points) if series.points else 1
        # Where each revision was measured as often as the judge asks, its own values are enough.
        fresh = policy.fresh - (1 < policy.fresh <= usual)
        self._policy = replace(policy, fresh=fresh, item=ItemUnderTest.COMMAND)
        self._samples = [
            Sample(
                label=point.label,
                position=place,
                metric=series.metric,
                iterations=tuple(Iteration(value=value) for value in point.values),
            )
            for place, point in enumerate(series.points)
        ]
        self._settled: list[Settled] = []
        self._earlier = {one.place: one for one in earlier}
        self._last: Judged | None = None
        self.place = 1

    def judge(self, together: int) -> Judged:
        """The verdict on the next revision, if so many series raise an alarm there."""
        policy = replace(self._policy, together=together)
        self._last = self._earlier.get(self.place) or _judge_one(
            self._samples, self.place, policy, self._settled
        )
        return self._last

    def keep(self) -> Judged:
        """The last verdict, which stays."""
        last = self._last or self.judge(1)
        if one := settled_by(last.verdict, last.last, self._policy.min_effect):
            self._settled.append(one)
        self.place = last.last + 1
        return last


def _revisions(series: Sequence[Recorded]) -> Iterator[Mapping[int, int]]:
    """The place of each revision in the series that have it, by the series' number.

    Where series contradict each other in the order of revisions, each has its own ones.
    """
    after: dict[str, set[str]] = {}
    at: dict[str, dict[int, int]] = {}
    for number, one in enumerate(series):
        labels = [point.label for point in one.points]
        for place, label in enumerate(labels):
            after.setdefault(label, set()).update(labels[place - 1 : place])
            at.setdefault(label, {})[number] = place
    try:
        ordered = tuple(TopologicalSorter(after).static_order())
    except CycleError:
        yield from (
            {number: place} for number, one in enumerate(series) for place in range(len(one.points))
        )
    else:
        yield from (at[label] for label in ordered)


def final(judged: Sequence[Judged], length: int) -> Sequence[Judged]:
    """Those verdicts that stay what they are when a series grows beyond this length."""
    return [one for one in judged if one.place + _MOST_LENT < length]


def _judge_one(
    samples: Sequence[Sample], place: int, policy: JudgePolicy, settled: Sequence[Settled]
) -> Judged:
    """The verdict on one revision, with as much of its neighbours as the judge asks for."""
    first = max(0, place - _WINDOW)
    level = max([first, *(one.began for one in settled)])  # older ones are of another level
    noise = learn(samples[first:place])
    known, new = (
        [_at(one, one.position) for one in samples[first:place]],
        _at(samples[place], place),
    )
    later = samples[place + 1 : place + 1 + _MOST_LENT]
    beside = {place: iter(later)}
    last = place
    for turn in range(1, _MAX_ROUNDS + 1):
        verdict = judge(known, new, noise, policy, settled)
        if isinstance(verdict, Alarm):
            return Judged(place=place, last=last, verdict=_placed(samples, verdict, level, last))
        if not isinstance(verdict, Suspicion):
            return Judged(place=place, last=place, verdict=verdict)
        lent: list[Sample] = []
        for wanted in verdict.remeasure:
            others = chain(
                samples[level : wanted.position][::-1],
                samples[wanted.position + 1 : verdict.first],
            )
            its = _lent(wanted, beside.setdefault(wanted.position, others), place + turn)
            last += len(its) if wanted.position == place else 0
            lent += its
        if not lent:
            return Judged(place=place, last=place, verdict=verdict)
        known += lent
    reason = "the revisions beside it neither show nor deny it"
    return Judged(
        place=place, last=place, verdict=Unfit(comparison=verdict.comparison, reason=reason)
    )


def _placed(samples: Sequence[Sample], alarm: Alarm, level: int, last: int) -> Alarm:
    """The alarm with the first revision at the new level, by all revisions that showed it.

    It is where those before lie nearest to the old level and those from there on to the new one.
    """
    logs = [_middle(one) for one in samples[level : last + 1]]
    old = median(logs[: alarm.anchor - level + 1])
    new = old + math.log1p(alarm.effect)
    costs = [(abs(one - old), abs(one - new)) for one in logs]
    began = min(
        range(alarm.anchor + 1, last + 1),
        key=lambda cut: (
            sum(before for before, _ in costs[: cut - level])
            + sum(after for _, after in costs[cut - level :])
        ),
    )
    return replace(alarm, began=began, first=min(alarm.first, began))


def _middle(sample: Sample) -> float:
    """The logarithm of its median; the judge passes over what is not positive, and so does this."""
    values = [value for value in sample.values if value > 0]
    return math.log(median(values)) if values else math.nan


def _lent(wanted: Remeasure, beside: Iterator[Sample], turn: int) -> list[Sample]:
    """The values of neighbours, as if they were of the image that is asked for, measured now."""
    lent: list[Sample] = []
    while sum(len(one.values) for one in lent) < wanted.iterations:
        if (one := next(beside, None)) is None:
            break
        lent.append(replace(_at(one, turn), position=wanted.position, image=wanted.image))
    return lent


def _at(sample: Sample, turn: int) -> Sample:
    """The sample as measured in a turn of its own, one value after the other: order is all."""
    told = (
        replace(one, at_s=turn + 1 + number / (1 + len(sample.iterations)))
        for number, one in enumerate(sample.iterations)
    )
    return replace(sample, iterations=tuple(told))
