"""What the tables tell of the lab for its mails: a quarantine, a week; it sends none."""

from __future__ import annotations

from buildbot_bench.core.report.farm_mails import (
    ControlRun,
    QuarantineReport,
    TestbedWeek,
    WeeklyReport,
    harmless_quarantine,
    harmless_week,
)
from buildbot_bench.plugin.controls import ControlState, control_state
from buildbot_bench.plugin.db.rows import QuarantineRow
from buildbot_bench.plugin.db.states import ProbeState, SearchState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.workflow import Mail

# What a reader of the mail compares with; the page has them all.
RUNS_TOLD = 8
_NO_REMARK = "out of control"


def lab_url(farm: Farm) -> str:
    """Where the Lab page is."""
    return f"{farm.master.config.buildbotURL}#/bench/lab"


async def lab_report(
    farm: Farm, row: QuarantineRow, state: ControlState, mail: Mail
) -> QuarantineReport:
    """Why a testbed went into quarantine, and what that puts in doubt; `state` is that of then."""
    iterations, images = await farm.store.doubted(row)
    newest = state.chart.newest
    return harmless_quarantine(
        QuarantineReport(
            farm=farm.workflow.name,
            testbed=row.testbed,
            workload=row.workload,
            label=state.image.label if state.image else state.control.revision,
            unit=state.metric.unit,
            shift=row.shift,
            reason=row.reason,
            since_s=row.since_s,
            begun_at=row.begun_at,
            reference=state.chart.reference,
            limit=newest.limit if newest else state.policy.tolerance,
            average_limit=state.chart.average_limit,
            rounds=len(state.chart.good),
            runs=_runs(row, state),
            iterations=iterations,
            images=images,
            searches=await _searches(farm, row),
            url=lab_url(farm),
            operator=mail.reply_to or "",
        )
    )


async def alive_report(farm: Farm, since_s: float) -> WeeklyReport:
    """What the farm did since a time, testbed by testbed."""
    outcomes = await farm.store.outcomes_since(since_s)
    beds = []
    for name in sorted(farm.workflow.testbeds):
        iterations, failed = outcomes.get(name, (0, 0))
        state = await control_state(farm, name)
        rows = await farm.store.quarantines(name)
        troubles = await farm.store.troubles(name, since_s)
        given_up = [probe for probe in troubles if probe.state == ProbeState.LOST]
        good = state.chart.good if state else ()
        recent = [abs(p.deviation or 0.0) for p in good if p.round.at_s > since_s]
        label = state.image.label if state and state.image else ""
        beds.append(
            TestbedWeek(
                testbed=name,
                iterations=iterations,
                failed=failed,
                control=label or (state.control.revision if state else ""),
                rounds=len(recent),
                spread=max(recent, default=0.0),
                last_good_s=state.last_good_s if state else None,
                quarantines=sum(row.begun_at > since_s for row in rows),
                held=any(row.ended_at is None for row in rows),
                given_up=len(given_up),
                why=(given_up[0].failure or "") if given_up else "",
            )
        )
    return harmless_week(
        WeeklyReport(
            farm=farm.workflow.name,
            since_s=since_s,
            until_s=farm.now(),
            mails=await farm.store.mails_sent_since(since_s),
            beds=tuple(beds),
            url=lab_url(farm),
        )
    )


def _runs(row: QuarantineRow, state: ControlState) -> tuple[ControlRun, ...]:
    """The newest rounds, of which the last began the quarantine."""
    runs = [
        ControlRun(
            at_s=point.round.at_s,
            values=point.round.values,
            deviation=point.deviation,
            average=point.average,
            remark=point.round.failure or (_NO_REMARK if one.probe_id == row.probe_id else ""),
        )
        for one, point in zip(state.rounds, state.chart.points, strict=True)
    ]
    return tuple(runs[-RUNS_TOLD:])


async def _searches(farm: Farm, row: QuarantineRow) -> tuple[str, ...]:
    """What searches found since the last good round, by the subjects of their mails."""
    lines = []
    for search in reversed(await farm.store.searches(states=[SearchState.FOUND])):
        if search.testbed == row.testbed and (search.ended_at or 0.0) > row.since_s:
            told = await farm.store.report_of_search(search.id)
            lines.append(f"search {search.id}" + (f": {told.subject}" if told else ""))
    return tuple(lines)
