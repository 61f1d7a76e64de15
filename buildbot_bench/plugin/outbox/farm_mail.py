"""Mails on the farm itself: each quarantine, and a weekly sign of life."""

from collections.abc import Sequence
from datetime import UTC, datetime
from email.message import EmailMessage

from buildbot_bench.api.states import ProbeState, SearchState
from buildbot_bench.core.cron import WEEK_S
from buildbot_bench.core.health.model import Chart
from buildbot_bench.core.report.farm_mails import (
    ControlRun,
    QuarantineReport,
    TestbedWeek,
    WeeklyReport,
)
from buildbot_bench.core.report.harmless import harmless
from buildbot_bench.core.shared_fields import shared
from buildbot_bench.plugin.db.finding_rows import QuarantineRow
from buildbot_bench.plugin.db.quarantines import MAIL_KEY
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.outbox.search_mail import operators
from buildbot_bench.plugin.queries.control_images import ControlState, as_of, control_state
from buildbot_bench.plugin.queries.evidence import item_on
from buildbot_bench.render.message import Notice, compose_notice
from buildbot_bench.render.mime import Envelope, Picture, parse_address
from buildbot_bench.render.plots.history import control as control_chart
from buildbot_bench.workflow.settings import Mail

# What a reader of the mail compares with; the page has them all.
MOST_RUNS = 8
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
    return harmless(
        QuarantineReport(
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
            url=lab_url(farm),
            operator=mail.reply_to or "",
            item=await item_on(farm, row.testbed),
        )
    )


async def alive_report(farm: Farm, since_s: float) -> WeeklyReport:
    """What the farm did since a time, testbed by testbed."""
    outcomes = await farm.store.outcomes_since(since_s)
    testbeds = []
    for name in sorted(farm.workflow.testbeds):
        iterations, failed = outcomes.get(name, (0, 0))
        state = await control_state(farm, name)
        rows = await farm.store.quarantines(name)
        troubles = await farm.store.troubles(name, since_s)
        given_up = [probe for probe in troubles if probe.state == ProbeState.LOST]
        good = state.chart.good if state else ()
        recent = [abs(p.deviation or 0.0) for p in good if p.round.at_s > since_s]
        label = state.image.label if state and state.image else ""
        testbeds.append(
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
    return harmless(
        WeeklyReport(
            farm=farm.workflow.name,
            since_s=since_s,
            until_s=farm.now(),
            mails=await farm.store.mails_sent_since(since_s),
            testbeds=tuple(testbeds),
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
    return tuple(runs[-MOST_RUNS:])


async def _searches(farm: Farm, row: QuarantineRow) -> tuple[str, ...]:
    """What searches found since the last good round, by the subjects of their mails."""
    lines = []
    for search in reversed(await farm.store.searches(states=[SearchState.FOUND])):
        if search.testbed == row.testbed and (search.ended_at or 0.0) > row.since_s:
            report = await farm.store.report_of_search(search.id)
            lines.append(f"search {search.id}" + (f": {report.subject}" if report else ""))
    return tuple(lines)


# A farm that got its mail settings today tells nobody of what was over long ago.
NEWS_S = 24 * 3600.0
_ALIVE_KEY = "alive:"


async def write_quarantines(farm: Farm, mail: Mail) -> None:
    """Write the mail of each quarantine that has none, to the testbed's owner."""
    for row in await farm.store.untold_quarantines():
        state = await control_state(farm, row.testbed)
        if state is None or farm.now() - row.begun_at > NEWS_S:
            continue
        then = await as_of(state, row)
        lab = await lab_report(farm, row, then, mail)
        picture = await _picture(lab, then.chart)
        owner = owners(farm, row.testbed, mail)
        envelope = farm_envelope(farm, mail, owner, f"quarantine.{row.id}")
        await keep_mail(farm, f"{MAIL_KEY}{row.id}", envelope, lab, [picture])


async def write_alive(farm: Farm, mail: Mail) -> None:
    """A week after the last such mail, or after the farm's first measurement, write one."""
    earlier = await farm.store.mails_like(_ALIVE_KEY)
    since_s = earlier[-1].created_at if earlier else await farm.store.first_asked_at()
    if since_s is None or farm.now() - since_s < WEEK_S:
        return
    week = await alive_report(farm, since_s)
    serial = len(earlier) + 1
    envelope = farm_envelope(farm, mail, operators(mail), f"alive.{serial}")
    await keep_mail(farm, f"{_ALIVE_KEY}{serial}", envelope, week)


async def _picture(lab: QuarantineReport, chart: Chart) -> Picture:
    title = f"{lab.label} on {lab.testbed}, {lab.workload}: the control chart"
    return Picture(
        name="control.png",
        png=await calculate(control_chart, chart, title=title),
        alternative=f"{title}; the rounds are in the table below",
    )


def owners(farm: Farm, testbed: str, mail: Mail) -> list[str]:
    """Who answers for a testbed: its control image's owner, or else the farm's operators."""
    control = farm.workflow.testbeds[testbed].control
    return [control.owner] if control is not None and control.owner else operators(mail)


def farm_envelope(farm: Farm, mail: Mail, recipients: Sequence[str], about: str) -> Envelope:
    """The head of a mail about the farm; `about` makes its Message-ID."""
    now = farm.now()
    domain = parse_address(mail.from_).domain
    return Envelope(
        sender=mail.from_,
        recipients=recipients,
        reply_to=mail.reply_to,
        message_id=f"<bench.{about}.{int(now)}@{domain}>",
        date=datetime.fromtimestamp(now, tz=UTC),
    )


async def keep_mail(
    farm: Farm,
    key: str,
    envelope: Envelope,
    notice: Notice,
    pictures: Sequence[Picture] = (),
    *,
    search_id: int | None = None,
) -> None:
    """Put a mail, of a search if there is one, into the outbox unless there is one of this key."""
    await keep_message(
        farm, key, envelope, compose_notice(notice, envelope, pictures), search_id=search_id
    )


async def keep_message(
    farm: Farm, key: str, envelope: Envelope, message: EmailMessage, *, search_id: int | None = None
) -> None:
    """Put a composed mail into the outbox unless there is one of this key."""
    await farm.store.add_mail(
        key,
        message_id=envelope.message_id,
        subject=str(message["Subject"]),
        recipients=list(envelope.recipients),
        message=message.as_bytes(),
        now=farm.now(),
        search_id=search_id,
    )
