"""The weekly digest mail of improvements and of undecided searches."""

from __future__ import annotations

from twisted.logger import Logger

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.report import OpinionKind, Report
from buildbot_bench.core.weekly import WEEK_S, last_weekly
from buildbot_bench.plugin.db.finding_rows import ReportRow
from buildbot_bench.plugin.db.states import ReportState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.outbox.farm_mail import farm_envelope
from buildbot_bench.plugin.outbox.search_mail import write_search_mail
from buildbot_bench.plugin.queries.incidents import is_of_improvement
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.message import compose_digest
from buildbot_bench.workflow import Mail

_LOG = Logger()

# What ended longer ago is no news: a farm that learns of digests tells nobody of its past.
_NEWS_S = 2 * WEEK_S


async def write_undecided(farm: Farm, mail: Mail) -> None:
    """Withhold a report of each search for an improvement that found nothing sure."""
    for search in await farm.store.undecided_searches(farm.now() - _NEWS_S):
        if is_of_improvement(search):
            await write_search_mail(farm, mail, search)


async def write_digest(farm: Farm, mail: Mail) -> None:
    """When it is time, write the mail about all that is withheld; nothing when there is none.

    The time is that of bench.yml, or a week after the oldest of them.
    """
    withheld = await farm.store.withheld_reports()
    now = farm.now()
    if not withheld or withheld[0].created_at > _told_up_to(farm, now):
        return
    found = [report for row in withheld if (report := await _report(farm, row))]
    reports = [report for report in found if not _is_noise(report)]
    if not reports:
        for row in withheld:
            await farm.store.change(row, state=ReportState.DIGESTED)
        return
    envelope = farm_envelope(farm, mail, mail.to, f"digest.{withheld[-1].id}")
    message = compose_digest(reports, envelope)
    await farm.store.digest_reports(
        withheld,
        message_id=envelope.message_id,
        subject=str(message["Subject"]),
        recipients=list(mail.to),
        message=message.as_bytes(),
        now=now,
    )


def _told_up_to(farm: Farm, now: float) -> float:
    """What was withheld up to then is to be reported now."""
    digest = farm.workflow.notify.digest
    if digest is None:
        return now - WEEK_S
    return last_weekly(now, weekday=digest.weekday, minute=digest.at)


def _is_noise(report: Report) -> bool:
    return report.opinion is not None and report.opinion.kind is OpinionKind.NOISE


async def _report(farm: Farm, row: ReportRow) -> Report | None:
    """What an improvement's search found; None when its range is gone and nobody can tell."""
    search = await farm.store.search(row.search_id) if row.search_id else None
    try:
        return None if search is None else await report_of(farm, search)
    except BenchError:
        _LOG.failure(
            "bench: the digest leaves out the improvement of search {search}", search=row.search_id
        )
        return None
