"""The digest of improvements: one mail a week, if there was one; it wakes nobody before."""

from __future__ import annotations

from datetime import UTC, datetime

from twisted.python import log

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.report import Report
from buildbot_bench.plugin.db.finding_rows import ReportRow
from buildbot_bench.plugin.db.states import ReportState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.reporting import report_of
from buildbot_bench.render.message import compose_digest, parse_address
from buildbot_bench.render.mime import Envelope
from buildbot_bench.workflow import Mail

WEEK_S = 7 * 24 * 3600.0


async def write_digest(farm: Farm, mail: Mail) -> None:
    """When the oldest untold improvement is a week old, write the mail about all of them."""
    withheld = await farm.store.withheld_reports()
    now = farm.now()
    if not withheld or now - withheld[0].created_at < WEEK_S:
        return
    reports = [report for row in withheld if (report := await _report(farm, row))]
    if not reports:
        for row in withheld:
            await farm.store.change_report(row, state=ReportState.DIGESTED)
        return
    domain = parse_address(mail.from_).domain
    envelope = Envelope(
        sender=mail.from_,
        recipients=mail.to,
        reply_to=mail.reply_to,
        message_id=f"<bench.digest.{withheld[-1].id}.{int(now)}@{domain}>",
        date=datetime.fromtimestamp(now, tz=UTC),
    )
    message = compose_digest(reports, envelope)
    await farm.store.digest_reports(
        withheld,
        message_id=envelope.message_id,
        subject=str(message["Subject"]),
        recipients=list(mail.to),
        message=message.as_bytes(),
        now=now,
    )


async def _report(farm: Farm, row: ReportRow) -> Report | None:
    """What an improvement's search found; None when its range is gone and nobody can tell."""
    search = await farm.store.search(row.search_id) if row.search_id else None
    try:
        return None if search is None else await report_of(farm, search)
    except BenchError:
        log.err(None, f"bench: the digest leaves out the improvement of search {row.search_id}")
        return None
