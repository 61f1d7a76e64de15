"""Mails on the farm itself: quarantines, a weekly sign of life, silences, hangs, workloads."""

from pathlib import Path

from buildbot_bench.api.answers import ProbeState, SearchState
from buildbot_bench.core.condition import SILENCE_S, Hang
from buildbot_bench.core.control_chart import Chart
from buildbot_bench.core.incident.workload import BrokenWorkload
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.report.farm_mails import (
    BrokenWorkloadReport,
    ControlRun,
    HangReport,
    QuarantineReport,
    SilenceReport,
    TestbedWeek,
    WeeklyReport,
)
from buildbot_bench.core.triggers import WEEK_S
from buildbot_bench.plugin.db.columns import ProbeReason, SearchKind
from buildbot_bench.plugin.db.finding_rows import QuarantineRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import held_testbeds, testbed_of
from buildbot_bench.plugin.outbox.search_mails import NEWS_S, keep_mail, operators, owners
from buildbot_bench.plugin.queries.breakages import Trouble, troubles_of_workloads
from buildbot_bench.plugin.queries.control_images import ControlState, as_of, control_state
from buildbot_bench.plugin.queries.evidence import item_on
from buildbot_bench.plugin.queries.overview import worker
from buildbot_bench.render.message import notice_letter
from buildbot_bench.render.mime import Picture
from buildbot_bench.render.plots.history import control as control_chart
from buildbot_bench.workflow.settings import Mail

# What a reader of the mail compares with; the page has them all.
MOST_RUNS = 8


def _lab_url(farm: Farm) -> str:
    return f"{farm.master.config.buildbotURL}#/bench/lab"


async def write_quarantines(farm: Farm, mail: Mail) -> None:
    """Write the mail of each quarantine that has none, to the testbed's owner."""
    for row in await farm.store.untold_quarantines():
        state = await control_state(farm, row.testbed)
        if state is None or farm.now() - row.begun_at > NEWS_S:
            continue
        then = await as_of(state, row)
        report = await _of_quarantine(farm, row, then, mail)
        letter = notice_letter(report, [await _picture(report, then.chart)])
        await keep_mail(farm, mail, f"quarantine:{row.id}", owners(farm, row.testbed, mail), letter)


async def _of_quarantine(
    farm: Farm, row: QuarantineRow, state: ControlState, mail: Mail
) -> QuarantineReport:
    """Why a testbed went into quarantine, and what that puts in doubt; `state` is that of then."""
    iterations, images = await farm.store.doubted(row)
    newest = state.chart.newest
    return QuarantineReport(
        farm=farm.workflow.name,
        **shared(QuarantineReport, row),
        label=state.image.label if state.image else state.control.revision,
        unit=state.metric.unit,
        reference=state.chart.reference,
        limit=newest.limit if newest else state.policy.tolerance,
        average_limit=state.chart.average_limit,
        rounds=len(state.chart.good),
        runs=_runs(row, state),
        iterations=iterations,
        images=images,
        searches=await _searches(farm, row),
        url=_lab_url(farm),
        operator=mail.reply_to or "",
        item=await item_on(farm, row.testbed),
    )


def _runs(row: QuarantineRow, state: ControlState) -> tuple[ControlRun, ...]:
    """The newest rounds, of which the last began the quarantine."""
    runs = [
        ControlRun(
            at_s=point.round.at_s,
            values=point.round.values,
            deviation=point.deviation,
            average=point.average,
            remark=point.round.failure
            or ("out of control" if one.probe_id == row.probe_id else ""),
        )
        for one, point in zip(state.rounds, state.chart.points, strict=True)
    ]
    return tuple(runs[-MOST_RUNS:])


async def _searches(farm: Farm, row: QuarantineRow) -> tuple[str, ...]:
    """What searches found since the last good round, by the subjects of their mails."""
    lines = []
    for search in reversed(await farm.store.searches(states=[SearchState.FOUND])):
        if search.testbed == row.testbed and (search.ended_at or 0.0) > row.since_s:
            report = await farm.store.report_of_search(search.id)
            lines.append(f"search {search.id}" + (f": {report.subject}" if report else ""))
    return tuple(lines)


async def _picture(report: QuarantineReport, chart: Chart) -> Picture:
    title = f"{report.label} on {report.testbed}, {report.workload}: the control chart"
    return Picture(
        name="control.png",
        png=await calculate(control_chart, chart, title=title),
        alternative=f"{title}; the rounds are in the table below",
    )


async def write_alive(farm: Farm, mail: Mail) -> None:
    """A week after the last such mail, or after the farm's first measurement, write one."""
    earlier = await farm.store.mails_like("alive:")
    since_s = earlier[-1].created_at if earlier else await farm.store.first_asked_at()
    if since_s is None or farm.now() - since_s < WEEK_S:
        return
    report = WeeklyReport(
        farm=farm.workflow.name,
        since_s=since_s,
        until_s=farm.now(),
        mails=await farm.store.mails_sent_since(since_s),
        testbeds=await _weeks(farm, since_s),
        url=_lab_url(farm),
    )
    letter = notice_letter(report)
    await keep_mail(farm, mail, f"alive:{len(earlier) + 1}", operators(mail), letter)


async def _weeks(farm: Farm, since_s: float) -> tuple[TestbedWeek, ...]:
    """What each testbed did since a time."""
    outcomes = await farm.store.outcomes_since(since_s)
    weeks = []
    for name in sorted(farm.workflow.testbeds):
        iterations, failed = outcomes.get(name, (0, 0))
        state = await control_state(farm, name)
        rows = await farm.store.quarantines(name)
        troubles = await farm.store.troubles(name, since_s)
        given_up = [probe for probe in troubles if probe.state == ProbeState.LOST]
        good = state.chart.good if state else ()
        recent = [abs(p.deviation or 0.0) for p in good if p.round.at_s > since_s]
        label = state.image.label if state and state.image else ""
        weeks.append(
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
    return tuple(weeks)


# What waited while no master ran is measured now, or this is how long it takes to see that it is
# not.
GRACE_S = 3600.0


class SilenceWatch:
    """Writes one mail for each silence of a testbed, from an hour after the farm's start on."""

    def __init__(self) -> None:
        self._first_look_s: float | None = None

    async def write(self, farm: Farm, mail: Mail) -> None:
        """Write the mail of each testbed that fell silent."""
        now = farm.now()
        if self._first_look_s is None:
            self._first_look_s = now
        if now - self._first_look_s < GRACE_S:
            return
        for testbed, (waiting, oldest_s) in (await _overdue(farm, now - SILENCE_S)).items():
            last_s = await farm.store.last_boot_at(testbed)
            if last_s is not None and now - last_s < SILENCE_S:
                continue
            key = f"silence:{testbed}:{'never' if last_s is None else int(last_s)}"
            if await farm.store.mails_like(key):
                continue
            report = await _of_silence(farm, testbed, last_s, waiting, oldest_s)
            await keep_mail(farm, mail, key, owners(farm, testbed, mail), notice_letter(report))


async def _overdue(farm: Farm, before_s: float) -> dict[str, tuple[int, float]]:
    """How many requests have waited since a time for each testbed, and since when.

    What a quarantine holds up does not count: its owner has a mail about that.
    """
    found: dict[str, tuple[int, float]] = {}
    held = await held_testbeds(farm)
    for testbed, reason, number, oldest_s in await farm.store.overdue(before_s):
        if testbed not in farm.workflow.testbeds:
            continue
        if reason != ProbeReason.CONTROL and testbed in held:
            continue
        waiting, since_s = found.get(testbed, (0, oldest_s))
        found[testbed] = (waiting + number, min(since_s, oldest_s))
    return found


async def _of_silence(
    farm: Farm, testbed: str, last_s: float | None, waiting: int, oldest_s: float
) -> SilenceReport:
    name = testbed_of(farm, testbed).worker
    troubles = await farm.store.troubles(testbed, last_s or 0.0, limit=1)
    return SilenceReport(
        farm=farm.workflow.name,
        testbed=testbed,
        worker=name,
        connected=bool((await worker(farm, name))["connected"]),
        now_s=farm.now(),
        last_boot_s=last_s,
        waiting=waiting,
        oldest_s=oldest_s,
        trouble=(troubles[0].failure or "") if troubles else "",
        url=_lab_url(farm),
        item=await item_on(farm, testbed),
    )


PAUSE_S = 24 * 3600.0


async def write_hang(farm: Farm, hang: Hang) -> None:
    """Write the mail, unless this master's last one is younger than a day."""
    mail = farm.workflow.mail
    series = f"hang:{farm.master.masterid}:"
    if mail is None or any(
        farm.now() - earlier.created_at < PAUSE_S for earlier in await farm.store.mails_like(series)
    ):
        return
    report = HangReport(
        farm=farm.workflow.name,
        what=hang.what,
        at_s=hang.at_s,
        again_s=farm.now(),
        file="/".join(Path(hang.path).parts[-2:]),
        url=_lab_url(farm),
    )
    key = f"{series}{int(hang.at_s)}"
    await keep_mail(farm, mail, key, operators(mail), notice_letter(report))


async def write_broken_workloads(farm: Farm, mail: Mail) -> None:
    """Write the mail of each outage that has none.

    The owner of a testbed in quarantine has a mail about that.
    """
    held = await held_testbeds(farm)
    for trouble in (await troubles_of_workloads(farm)).values():
        verdict = trouble.verdict
        if not isinstance(verdict, BrokenWorkload) or trouble.testbed in held:
            continue
        worked = "never" if verdict.worked is None else verdict.worked.number
        key = f"workload:{trouble.testbed}:{trouble.workload}:{worked}"
        if key not in {row.key for row in await farm.store.mails_like(key)}:
            letter = notice_letter(await _of_broken(farm, trouble, verdict))
            await keep_mail(farm, mail, key, owners(farm, trouble.testbed, mail), letter)


async def _of_broken(farm: Farm, trouble: Trouble, verdict: BrokenWorkload) -> BrokenWorkloadReport:
    searches = await farm.store.searches(states=(SearchState.RUNNING,), kinds=(SearchKind.EFFECT,))
    series = (trouble.testbed, trouble.workload)
    return BrokenWorkloadReport(
        farm=farm.workflow.name,
        testbed=trouble.testbed,
        workload=trouble.workload,
        first=verdict.first.label,
        second=verdict.second.label,
        stood_well=verdict.stood_well,
        reason=verdict.second.reason,
        worked_s=None if verdict.worked is None else verdict.worked.at_s,
        fails_since_s=verdict.since[0].at_s,
        output=trouble.output,
        searches=tuple(sorted(one.id for one in searches if (one.testbed, one.workload) == series)),
        url=_lab_url(farm),
    )
