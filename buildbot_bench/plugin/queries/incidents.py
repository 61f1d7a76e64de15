"""Incidents in the tables: the search that may explain an alarm, and open confirmations."""

import math
from collections.abc import Iterable
from dataclasses import replace

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.evidence import comparable_samples
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.incident.model import AlarmedSeries, may_share_a_change
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.judge.model import Direction
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.search import Slope, Step
from buildbot_bench.core.search.information import information_per_second
from buildbot_bench.plugin.db.columns import OPEN_PROBES, JudgementState, ProbeReason, SearchReason
from buildbot_bench.plugin.db.finding_rows import (
    IncidentSeriesRow,
    NewSearch,
    RaisedAlarm,
    SearchRow,
    SeriesRange,
)
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series, held_testbeds, removal_reason, testbed_of
from buildbot_bench.plugin.queries.captures import captures_are_awaited
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS

GIVEN_UP = frozenset({SearchState.CANCELLING, SearchState.CANCELLED, SearchState.FAILED})

MOST_WAIT_S = 6 * 3600.0
"""For so long a mail waits for its incident's other series: as captures, they hold nothing up."""


def alarmed_by(search: NewSearch) -> AlarmedSeries:
    """The alarm that a search is about; without one, it is taken for a regression."""
    effect = search.claimed
    if effect is None:
        effect = -search.min_effect if search.makes_worse(-1.0) else search.min_effect
    return RaisedAlarm(**shared(RaisedAlarm, search) | {"claimed": effect}).on(search.branch)


def is_of_improvement(search: NewSearch) -> bool:
    """Whether an alarm that something became better began a search: it gives way to all else."""
    alarmed = search.reason is SearchReason.ALARM and search.claimed is not None
    return alarmed and not search.makes_worse(search.claimed or 0.0)


def explains(search: SearchRow, alarm: AlarmedSeries) -> bool:
    """Whether a search is about the change that an alarm saw: in its range, in its direction.

    A search that has ended is about the steps that it found, and about what lies within its slopes.
    """
    if search.state in GIVEN_UP or search.branch != alarm.configuration:
        return False
    if search.ended_at is None:
        return may_share_a_change(alarmed_by(search), alarm)
    return bool(_steps_within(search, alarm)) or bool(_slopes_around(search, alarm))


def step_within(search: SearchRow, alarm: AlarmedSeries) -> Step | None:
    """The largest sure step that a search found in an alarm's range and direction."""
    steps = [step for step in _steps_within(search, alarm) if step.probability >= 1 - search.error]
    return max(steps, key=lambda step: abs(step.effect), default=None)


def _steps_within(search: SearchRow, alarm: AlarmedSeries) -> list[Step]:
    worse = alarm.worse
    return [
        step
        for step in search.steps
        if alarm.old < search.old_position + step.new <= alarm.new
        and search.makes_worse(step.effect) is worse
    ]


def _slopes_around(search: SearchRow, alarm: AlarmedSeries) -> list[Slope]:
    """The stretches that changed that way little by little and hold all of an alarm's range.

    The kernels that a search measured there are judged too, and each may be an alarm.
    """
    worse = alarm.worse
    return [
        slope
        for slope in (search.answer.slopes if search.answer else ())
        if search.old_position + slope.whole.old <= alarm.old
        and alarm.new <= search.old_position + slope.whole.new
        and search.makes_worse(slope.whole.effect) is worse
    ]


def is_of_slope(search: SearchRow, alarm: AlarmedSeries) -> bool:
    """Whether an ended search found a slope that an alarm of a related series is a part of.

    What changed by more than the whole slope and min_effect is more than a part of it.
    """
    seen, least = abs(math.log1p(max(alarm.effect, -0.99))), math.log1p(search.min_effect)
    return search.ended_at is not None and any(
        seen <= abs(math.log1p(max(slope.whole.effect, -0.99))) + least
        for slope in _slopes_around(search, alarm)
    )


async def incident_of(
    farm: Farm, alarm: AlarmedSeries, *, but: Iterable[int] = ()
) -> SearchRow | None:
    """The search of a related series that may explain an alarm, the newest; None without one.

    One whose step was denied on this series explains nothing here, and neither do those in `but`.
    """
    passed = set(but)
    for search in await farm.store.incidents_over(alarm.configuration, alarm.old, alarm.new):
        running = search.ended_at is None
        if search.id in passed or not explains(search, alarm):
            continue
        is_about = step_within(search, alarm) is not None or is_of_slope(search, alarm)
        if not (running or is_about):
            continue
        members = await farm.store.series_of_incident(search.id)
        if not any(is_denied(member, alarm) for member in members):
            return search
    return None


def is_of(member: IncidentSeriesRow, series: SeriesRange | AlarmedSeries) -> bool:
    """Whether a member is the series of a search or an alarm."""
    return (member.testbed, member.workload, member.value) == (
        series.testbed,
        series.workload,
        series.value,
    )


def is_denied(member: IncidentSeriesRow, alarm: AlarmedSeries) -> bool:
    """Whether a member is the alarm's series, and went its own way."""
    went_own_way = member.standing is Standing.DENIED or member.own_search_id is not None
    return is_of(member, alarm) and went_own_way


async def others_of(farm: Farm, search: SearchRow) -> list[IncidentSeriesRow]:
    """The series of an incident besides the one that is searched."""
    return [
        member
        for member in await farm.store.series_of_incident(search.id)
        if not is_of(member, search)
    ]


async def alarmed_elsewhere(
    farm: Farm, new: Sample, old: Sample, *, branch: str
) -> frozenset[Direction]:
    """In which directions other testbeds raised an alarm over some of a branch's (old, new].

    Agreement counts where the same workload of the same branch's kernels is measured today.
    """
    related = {
        series.name
        for series in all_series(farm.workflow.bench_jobs)
        if series.workload == new.workload
        and series.testbed != new.testbed
        and series.measures(branch)
    }
    found: set[Direction] = set()
    for row in await farm.store.alarms_over(branch, old.position, new.position):
        if (row.testbed, row.workload) not in related or row.value:
            continue
        image = await farm.store.image_at(branch, row.new_position)
        if image is not None and image.sha == row.new_sha:
            found.add("regression" if row.state is JudgementState.REGRESSION else "improvement")
    return frozenset(found)


async def score_of(farm: Farm, alarm: AlarmedSeries) -> float:
    """What a second on the series of an alarm tells of it, in bits."""
    samples = await farm.store.samples(
        (alarm.testbed, alarm.workload),
        (max(0, alarm.new - WINDOW_COMMITS), alarm.new),
        unit=alarm.value or alarm.unit or None,
        branch=alarm.configuration,
    )
    noise = await calculate(learn, comparable_samples(samples))
    declared = testbed_of(farm, alarm.testbed)
    return await calculate(
        information_per_second,
        alarm.effect,
        sigma_run=noise.sigma_run,
        sigma_build=noise.sigma_build,
        boot_s=declared.boot_s,
        run_s=declared.run_s,
    )


async def mail_is_to_wait(farm: Farm, search: SearchRow) -> bool:
    """Whether something is still to come that the mail of a search is to show."""
    return await captures_are_awaited(farm, search) or await confirmations_are_awaited(farm, search)


async def confirmations_are_awaited(farm: Farm, search: SearchRow) -> bool:
    """Whether the mail of a search is to wait for other series of its incident.

    They wait to be confirmed; or they have not spoken yet: what they measured behind the step is
    suspected, or asked for. A testbed in quarantine is not waited for; nor does the mail of a
    search that a person started wait.
    """
    if search.state is not SearchState.FOUND or search.ended_at is None:
        return False
    if search.reason is not SearchReason.ALARM:
        return False
    found = step_within(search, alarmed_by(search))
    if found is None or farm.now() >= search.ended_at + MOST_WAIT_S:
        return False
    held = await held_testbeds(farm)
    for member in await others_of(farm, search):
        if member.standing is Standing.WAITING and member.testbed not in held:
            return True
    measured = {
        series.name
        for series in all_series(farm.workflow.bench_jobs)
        if series.testbed not in held and series.measures(search.branch)
    }
    at = search.old_position + found.new
    return await _is_suspected(farm, search, measured, at) or await _is_asked_for(
        farm, measured - {search.series}, search.branch, at
    )


async def _is_suspected(
    farm: Farm, search: SearchRow, measured: set[tuple[str, str]], at: int
) -> bool:
    """Whether the commit at a position is among those that the judge suspects on another series.

    Another value of the runs that were searched is one.
    """
    return any(
        row.series in measured
        and (row.series, row.value) != (search.series, search.value)
        and row.branch in {search.branch, None}
        and row.old_position < at <= row.new_position
        for row in await farm.store.judgements(state=JudgementState.SUSPICION)
    )


async def _is_asked_for(farm: Farm, others: set[tuple[str, str]], branch: str, at: int) -> bool:
    """Whether the first measurement of another series behind a position has not ended yet."""
    for state in OPEN_PROBES:
        for probe in await farm.store.probes(state=state):
            series = probe.series
            if series not in others or probe.reason is not ProbeReason.COMMIT:
                continue
            image = await farm.store.image(probe.image_id)
            if image is None or image.position < at or image.branch not in {branch, None}:
                continue
            known = await farm.store.samples(probe.series, (at, image.position), branch=branch)
            if not any(sample.values for sample in known):
                return True
    return False


def series_as(search: SearchRow, member: IncidentSeriesRow, min_effect: float) -> SearchRow:
    """The search as it would be on another series of its incident: what is known there counts."""
    return replace(
        search,
        testbed=member.testbed,
        workload=member.workload,
        unit=member.unit,
        value=member.value,
        higher_is_better=member.higher_is_better,
        claimed=member.claimed,
        min_effect=min_effect,
    )


async def is_forsaken(farm: Farm, search: SearchRow) -> bool:
    """Whether a search ended without an answer for the other series, though nobody wanted that."""
    if search.ended_at is None or search.state is SearchState.FOUND:
        return False
    cancelled = search.state in {SearchState.CANCELLED, SearchState.CANCELLING}
    return not cancelled or bool(
        removal_reason(farm, search.testbed, search.workload, search.repository)
    )
