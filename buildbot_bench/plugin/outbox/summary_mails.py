"""Mails of breakages, recoveries and comparisons, and the weekly digest of improvements."""

import hashlib
from dataclasses import replace
from email import message_from_bytes, policy

from twisted.logger import Logger

from buildbot_bench.core.cron import WEEK_S, last_weekly
from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.report.incident_mails import BreakageReport
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.report.opinions import OpinionKind
from buildbot_bench.plugin.db.ab_tests import COMPARISON_KEY
from buildbot_bench.plugin.db.finding_rows import ReportRow, SearchRow
from buildbot_bench.plugin.db.outbox import RECOVERY_KEY
from buildbot_bench.plugin.db.states import ReportState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.outbox.farm_mail import NEWS_S, farm_envelope, keep_mail, keep_message
from buildbot_bench.plugin.outbox.search_mail import (
    particulars_of,
    recipients_among,
    write_search_mail,
)
from buildbot_bench.plugin.queries.breakage_views import breakage_report, recovery_report
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.incidents import is_of_improvement
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.message import compose_comparison, compose_digest
from buildbot_bench.render.mime import parse_address
from buildbot_bench.workflow.settings import Mail


async def write_breakages(farm: Farm, mail: Mail) -> None:
    """Write the mail of each breakage that was searched to the end and has none.

    Where no culprit was separated nobody is held to be one: author and committer get no mail.
    """
    for search in await farm.store.untold_breakages(farm.now() - NEWS_S):
        report = await breakage_report(farm, search)
        if report is None:
            continue
        known = await particulars_of(farm, report.suspects, mail)
        recipients = recipients_among(report.suspects if report.proved else (), mail, known)
        envelope = replace(
            farm_envelope(farm, mail, recipients, str(search.id)),
            references=_incident(mail, report),
        )
        await keep_mail(farm, f"search:{search.id}", envelope, report, search_id=search.id)


async def write_recoveries(farm: Farm, mail: Mail) -> None:
    """Write the mail that closes each incident whose end nobody heard of."""
    for search in await farm.store.untold_recoveries():
        first = await farm.store.report_of_search(search.id)
        if first is not None:
            await _write_recovery(farm, mail, search, first)


async def _write_recovery(farm: Farm, mail: Mail, search: SearchRow, first: ReportRow) -> None:
    report = await recovery_report(farm, search, found=first.subject)
    if report is None:
        return
    begun = message_from_bytes(first.message, policy=policy.default)
    earlier = str(begun["References"] or "").split()
    recipients = [str(one) for one in begun["To"].addresses]
    envelope = replace(
        farm_envelope(farm, mail, recipients, f"recovery.{search.id}"),
        references=" ".join([*earlier, first.message_id]),
        in_reply_to=first.message_id,
    )
    await keep_mail(farm, f"{RECOVERY_KEY}{search.id}", envelope, report)


async def write_comparisons(farm: Farm, mail: Mail) -> None:
    """Write the mail of each comparison that bench.yml asked for and that ended by itself."""
    for ab_test in await farm.store.untold_ab_tests(farm.now() - NEWS_S):
        report = await ComparisonViews(farm).report(ab_test)
        envelope = farm_envelope(farm, mail, mail.to, f"comparison.{ab_test.id}")
        page = f"{farm.master.config.buildbotURL}#/bench/comparisons/{ab_test.id}"
        message = await calculate(compose_comparison, report, envelope, page=page)
        await keep_message(farm, f"{COMPARISON_KEY}{ab_test.id}", envelope, message)


def _incident(mail: Mail, report: BreakageReport) -> str:
    """What all mails of one breakage refer to; as with a culprit's, no mail has this id itself."""
    named = [report.testbed, report.workload, *(one.sha for one in report.suspects)]
    digest = hashlib.sha256("\0".join(named).encode()).hexdigest()
    return f"<bench.incident.{digest[:32]}@{parse_address(mail.from_).domain}>"


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
