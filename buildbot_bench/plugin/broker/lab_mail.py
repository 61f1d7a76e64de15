"""The mails about the lab: one about each quarantine, and once a week that the farm is alive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.message import EmailMessage

from twisted.internet.threads import deferToThread

from buildbot_bench.core.health import Chart
from buildbot_bench.core.report.farm_mails import QuarantineReport
from buildbot_bench.plugin.controls import as_of, control_state
from buildbot_bench.plugin.db.quarantines import MAIL_KEY
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.lab_reports import alive_report, lab_report
from buildbot_bench.plugin.recipients import operators
from buildbot_bench.render.farm_mails import compose_quarantine, compose_week
from buildbot_bench.render.message import parse_address
from buildbot_bench.render.mime import Envelope
from buildbot_bench.render.picture import Picture
from buildbot_bench.render.plots import control
from buildbot_bench.workflow import Mail

WEEK_S = 7 * 24 * 3600.0
# A farm that got its mail settings today tells nobody of what was over long ago.
NEWS_S = 24 * 3600.0
_ALIVE_KEY = "alive:"


async def write_quarantines(farm: Farm, mail: Mail) -> None:
    """Write the mail of each quarantine that has none, to the testbed's owner."""
    for row in await farm.store.untold_quarantines():
        state = await control_state(farm, row.testbed)
        if state is None or farm.now() - row.begun_at > NEWS_S:
            continue
        then = as_of(state, row)
        lab = await lab_report(farm, row, then, mail)
        picture = await deferToThread(_picture, lab, then.chart)
        owner = [state.control.owner] if state.control.owner else operators(mail)
        envelope = _envelope(farm, mail, owner, f"quarantine.{row.id}")
        await _keep(
            farm, f"{MAIL_KEY}{row.id}", envelope, compose_quarantine(lab, envelope, [picture])
        )


async def write_alive(farm: Farm, mail: Mail) -> None:
    """A week after the last such mail, or after the farm's first measurement, write one."""
    told = await farm.store.mails_like(_ALIVE_KEY)
    since_s = told[-1].created_at if told else await farm.store.first_asked_at()
    if since_s is None or farm.now() - since_s < WEEK_S:
        return
    week = await alive_report(farm, since_s)
    serial = len(told) + 1
    envelope = _envelope(farm, mail, operators(mail), f"alive.{serial}")
    await _keep(farm, f"{_ALIVE_KEY}{serial}", envelope, compose_week(week, envelope))


def _picture(lab: QuarantineReport, chart: Chart) -> Picture:
    title = f"{lab.label} on {lab.testbed}, {lab.workload}: the control chart"
    return Picture(
        name="control.png",
        png=control(chart, title=title),
        alternative=f"{title}; the rounds are in the table below",
    )


def _envelope(farm: Farm, mail: Mail, recipients: Sequence[str], about: str) -> Envelope:
    now = farm.now()
    domain = parse_address(mail.from_).domain
    return Envelope(
        sender=mail.from_,
        recipients=recipients,
        reply_to=mail.reply_to,
        message_id=f"<bench.{about}.{int(now)}@{domain}>",
        date=datetime.fromtimestamp(now, tz=UTC),
    )


async def _keep(farm: Farm, key: str, envelope: Envelope, message: EmailMessage) -> None:
    await farm.store.add_mail(
        key,
        message_id=envelope.message_id,
        subject=str(message["Subject"]),
        recipients=list(envelope.recipients),
        message=message.as_bytes(),
        now=farm.now(),
    )
