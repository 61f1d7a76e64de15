"""The mails of a breakage and of the end of an incident, in one thread, to one audience."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from email import message_from_bytes, policy

from buildbot_bench.core.report.incident_mails import BreakageReport
from buildbot_bench.core.revision import Particulars
from buildbot_bench.plugin.db.finding_rows import ReportRow, SearchRow
from buildbot_bench.plugin.db.outbox import RECOVERY_KEY
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.outbox.farm_mail import NEWS_S, farm_envelope, keep_mail
from buildbot_bench.plugin.outbox.search_mail import MOST_SUSPECTS, recipients_among
from buildbot_bench.plugin.queries.breakage_views import breakage_report, recovery_report
from buildbot_bench.render.message import parse_address
from buildbot_bench.workflow import Mail


async def write_breakages(farm: Farm, mail: Mail) -> None:
    """Write the mail of each breakage that was searched to the end and has none.

    Where no culprit was separated nobody is held to be one: author and committer get no mail.
    """
    for search in await farm.store.untold_breakages(farm.now() - NEWS_S):
        report = await breakage_report(farm, search)
        if report is None:
            continue
        known: dict[str, Particulars] = {}
        if mail.paths or mail.to_committer:
            known = await farm.git(_particulars, farm, report)
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


def _particulars(farm: Farm, report: BreakageReport) -> dict[str, Particulars]:
    """What is known of the suspects, by hash, in a thread that may ask the mirror."""
    if len(report.suspects) > MOST_SUSPECTS:
        return {}
    return {one.sha: farm.history.particulars(one) for one in report.suspects}


def _incident(mail: Mail, report: BreakageReport) -> str:
    """What all mails of one breakage refer to; as with a culprit's, no mail has this id itself."""
    named = [report.testbed, report.workload, *(one.sha for one in report.suspects)]
    digest = hashlib.sha256("\0".join(named).encode()).hexdigest()
    return f"<bench.incident.{digest[:32]}@{parse_address(mail.from_).domain}>"
