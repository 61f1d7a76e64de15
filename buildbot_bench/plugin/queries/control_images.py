"""The state of a testbed by its control image, for the broker, the Lab page and metrics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.control_chart import (
    Chart,
    ChartPolicy,
    Point,
    Round,
    Span,
    chart,
    learn_spread,
)
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.model.thresholds import lab_tolerance
from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.db.finding_rows import QuarantineRow
from buildbot_bench.plugin.db.rows import ImageRow, IterationRow, ProbeRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import testbed_of
from buildbot_bench.workflow.settings import Control

# So many requests are looked back upon: with one a day, most of a year.
PROBES_READ = 300
_ENDED = frozenset({ProbeState.DONE, ProbeState.LOST})


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlRound:
    """One measurement of the control image, with the request (`probe_id`) that began it."""

    probe_id: int
    epoch: str
    unit: str
    round: Round


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlState:
    """How a testbed stands; `rounds` and the chart's points are alike in number and order.

    `quarantines` are all of the testbed, oldest first; `quarantine` is the one that lasts.
    """

    testbed: str
    control: Control
    workload: str
    image: ImageRow | None
    asked: tuple[ProbeRow, ...]
    rounds: tuple[ControlRound, ...]
    chart: Chart
    policy: ChartPolicy
    quarantines: tuple[QuarantineRow, ...]
    metric: Metric

    @property
    def quarantine(self) -> QuarantineRow | None:
        """The quarantine that lasts."""
        return next((row for row in self.quarantines if row.ended_at is None), None)

    @property
    def epoch(self) -> str:
        """The epoch of the newest round."""
        return self.rounds[-1].epoch if self.rounds else ""

    @property
    def last_good_s(self) -> float | None:
        """When the last good round ended."""
        return self.chart.good[-1].round.at_s if self.chart.good else None


async def control_state(farm: Farm, testbed: str) -> ControlState | None:
    """How a testbed stands by its control image; None without one, or when it is gone."""
    control = testbed_of(farm, testbed).control
    if control is None:
        return None
    workload = control.workload or farm.workflow.workloads_on(testbed)[0]
    asked = await farm.store.control_probes(testbed, PROBES_READ)
    image = await farm.store.image(asked[-1].image_id) if asked else None
    probes = [p for p in asked if (p.image_id, p.workload) == (asked[-1].image_id, workload)]
    iterations = await farm.store.iterations_of_probes([probe.id for probe in probes])
    rounds = _of_newest_epoch(_rounds(probes, iterations, image))
    quarantines = await farm.store.quarantines(testbed)
    policy = ChartPolicy(tolerance=lab_tolerance(farm.workflow.min_effect_on(testbed)))
    unit = next((one.unit for one in reversed(rounds) if one.unit), PPS.unit)
    metric = await farm.store.metric_of((testbed, workload), unit)
    return ControlState(
        testbed=testbed,
        control=control,
        workload=workload,
        image=image,
        asked=tuple(asked),
        rounds=tuple(rounds),
        chart=await _chart(rounds, policy, quarantines, metric),
        policy=policy,
        quarantines=tuple(quarantines),
        metric=metric,
    )


async def as_of(state: ControlState, row: QuarantineRow) -> ControlState:
    """The state that led to a quarantine, with the round that began it as the newest."""
    rounds = tuple(one for one in state.rounds if one.probe_id <= row.probe_id)
    earlier = tuple(one for one in state.quarantines if one.id < row.id)
    chart_then = await _chart(rounds, state.policy, earlier, state.metric)
    return replace(state, rounds=rounds, quarantines=earlier, chart=chart_then)


def _rounds(
    probes: Sequence[ProbeRow], iterations: Sequence[IterationRow], image: ImageRow | None
) -> list[ControlRound]:
    """A round for each request that has ended, with all that was asked for anew for it."""
    by_probe: dict[int, list[IterationRow]] = {}
    for row in iterations:
        by_probe.setdefault(row.probe_id, []).append(row)
    rounds = []
    for _, group in groupby(
        sorted(probes, key=attrgetter("serial", "id")), key=attrgetter("serial")
    ):
        parts = list(group)
        boots = [row for probe in parts for row in by_probe.get(probe.id, [])]
        if all(probe.state in _ENDED for probe in parts) and (one := _round(parts, boots, image)):
            rounds.append(one)
    return sorted(rounds, key=lambda one: (one.round.at_s, one.probe_id))


def _round(
    parts: Sequence[ProbeRow], boots: Sequence[IterationRow], image: ImageRow | None
) -> ControlRound | None:
    """None when there was nothing to boot: that says something of the builders."""
    good = [row for row in boots if row.value is not None]
    if not good and (image is None or image.state != ImageState.BUILT):
        return None
    failures = [row.failure for row in boots] + [probe.failure for probe in reversed(parts)]
    ends = [probe.ended_at for probe in parts if probe.ended_at is not None]
    return ControlRound(
        probe_id=parts[0].id,
        epoch=parts[-1].epoch,
        unit=good[-1].unit if good else "",
        round=Round(
            at_s=boots[-1].at_s if boots else max(ends, default=parts[-1].created_at),
            values=tuple(row.value for row in good if row.value is not None),
            failure="" if good else next(filter(None, failures), "it gave no value"),
        ),
    )


def _of_newest_epoch(rounds: Sequence[ControlRound]) -> list[ControlRound]:
    """The rounds in the newest epoch and unit; one that failed before it began has neither."""
    known = [one for one in rounds if one.unit]
    if not known:
        return list(rounds)
    newest = (known[-1].epoch, known[-1].unit)
    first = next(n for n, one in enumerate(rounds) if (one.epoch, one.unit) == newest)
    return [one for one in rounds[first:] if not one.unit or (one.epoch, one.unit) == newest]


async def _chart(
    rounds: Sequence[ControlRound],
    policy: ChartPolicy,
    quarantines: Sequence[QuarantineRow],
    metric: Metric,
) -> Chart:
    epoch = rounds[-1].epoch if rounds else ""
    doubted = [
        Span(since_s=row.since_s, until_s=row.ended_at) for row in quarantines if row.epoch == epoch
    ]
    good = [one for one in rounds if not any(span.holds(one.round.at_s) for span in doubted)]
    spread = await calculate(learn_spread, [one.round for one in good], metric)
    return await calculate(chart, [one.round for one in rounds], spread, policy, excluded=doubted)


async def control_view(farm: Farm, testbed: str) -> Json | None:
    """The chart of a testbed's control image; None without one."""
    state = await control_state(farm, testbed)
    if state is None:
        return None
    newest = state.chart.newest
    return {
        "label": state.image.label if state.image else state.control.revision,
        "workload": state.workload,
        "state": _word(state),
        "trouble": await _trouble(farm, state),
        "every_s": state.control.every,
        "asked_at": state.asked[-1].created_at if state.asked else None,
        "last_good_at": state.last_good_s,
        "unit": state.metric.unit,
        "reference": state.chart.reference,
        "deviation": newest.deviation if newest else None,
        "average_limit": state.chart.average_limit,
        "points": [_point(point) for point in state.chart.points],
    }


async def quarantine_view(farm: Farm, testbed: str) -> Json | None:
    """The quarantine that lasts on a testbed, with or without a control image in bench.yml."""
    lasting = await farm.store.quarantines(testbed, open_only=True)
    if not lasting:
        return None
    iterations, images = await farm.store.doubted(lasting[-1])
    return {
        "reason": lasting[-1].reason,
        "begun_at": lasting[-1].begun_at,
        "since": lasting[-1].since_s,
        "iterations": iterations,
        "images": images,
    }


def _word(state: ControlState) -> str:
    if state.quarantine is not None:
        return "quarantined"
    return "in control" if len(state.chart.good) > 1 else "learning"


async def _trouble(farm: Farm, state: ControlState) -> str | None:
    """Why the control image is never measured, if it is not."""
    if state.rounds:
        return None
    try:
        await farm.git(farm.history.resolve, state.control.revision)
    except UsageError as problem:
        return str(problem)
    return state.image.reason if state.image else None


def _point(point: Point) -> Json:
    """One round; its fractions are of the level."""
    return {
        "at": point.round.at_s,
        "values": list(point.round.values),
        "deviation": point.deviation,
        "average": point.average,
        "limit": point.limit,
        "bad": point.signal is not None or point.excluded,
        "failure": point.round.failure,
    }
