"""Mails by the templates of their kinds: those of search reports, and all others."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from email.message import EmailMessage
from typing import Any

from buildbot_bench.core.compare.model import ComparisonReport
from buildbot_bench.core.compare.text import factor_lines, subject
from buildbot_bench.core.compare.text import text as comparison_text
from buildbot_bench.core.report.farm_mails import ControlRun, QuarantineReport, WeeklyReport
from buildbot_bench.core.report.incident_mails import BreakageReport, RecoveryReport
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.report.operator_mails import (
    BrokenWorkloadReport,
    HangReport,
    SilenceReport,
)
from buildbot_bench.core.report.words import digest_subject, percent, quantity
from buildbot_bench.render.environment import environment
from buildbot_bench.render.html import ReportFragment, comparison_html, report_html
from buildbot_bench.render.layout import moment, wrap
from buildbot_bench.render.mime import Envelope, Picture, parse_address, write_message
from buildbot_bench.render.text import report_text


def compose_message(
    report: Report,
    *,
    sender: str,
    recipients: Sequence[str],
    reply_to: str | None,
    message_id: str,
    date: datetime,
    pictures: Sequence[Picture] = (),
) -> EmailMessage:
    """The report as a mail: a letter, HTML with all, its pictures, and all as a file of text.

    The others are those of an `Envelope`; the same ones give the same bytes. Raises UsageError for
    what is no address, and for a header that would end its line.
    """
    envelope = Envelope(
        sender=sender,
        recipients=recipients,
        reply_to=reply_to,
        message_id=message_id,
        date=date,
        references=incident_id(report, sender=sender),
    )
    return write_message(
        envelope,
        subject=report.subject,
        text=report_text(report, whole=False),
        html=report_html(report, pictures),
        pictures=pictures,
        attached=report_text(report),
    )


def compose_digest(reports: Sequence[Report], envelope: Envelope) -> EmailMessage:
    """Improvements as one mail, in the order in which they were found; at least one."""
    return write_message(
        envelope,
        subject=digest_subject(reports),
        text=digest_text(reports),
        html=digest_html(reports),
    )


def compose_comparison(report: ComparisonReport, envelope: Envelope, *, page: str) -> EmailMessage:
    """The mail of a comparison: what its factors do, then all of it; `page` is its address."""
    html, pictures = comparison_html(report)
    told = [wrap(line, first="* ", rest="  ") for line in factor_lines(report)]
    parts = ["\n".join(told), f"Each boot: {page}", comparison_text(report)]
    return write_message(
        envelope,
        subject=subject(report),
        text="\n\n".join(filter(None, parts)),
        html=html,
        pictures=pictures,
    )


def incident_id(report: Report, *, sender: str) -> str:
    """What all mails of one incident refer to, so that they stand in one thread.

    An incident is a culprit on a testbed and workload, no matter which search found it. No mail has
    this Message-ID itself: two searches may find the same, and a server drops a second copy.
    """
    domain = parse_address(sender).domain
    step = report.headline
    named = [report.old.sha, report.new.sha] if step is None else [one.sha for one in step.suspects]
    incident = "\0".join([report.setting.testbed, report.setting.workload, *named])
    digest = hashlib.sha256(incident.encode()).hexdigest()
    return f"<bench.incident.{digest[:32]}@{domain}>"


def new_message_id(report: Report, *, sender: str, date: datetime) -> str:
    """A Message-ID for the report's one mail.

    The time keeps two farms' lives apart: search numbers begin anew with an empty database.
    """
    domain = parse_address(sender).domain
    return f"<bench.{report.setting.search_id}.{int(date.timestamp())}@{domain}>"


def digest_text(reports: Sequence[Report]) -> str:
    """All of them as text that ends in a newline; at least one, all of one farm."""
    return environment().get_template("digest.txt").render(reports=reports)


def digest_html(reports: Sequence[Report]) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("digest.html").render(reports=reports)


Notice = (
    QuarantineReport
    | WeeklyReport
    | SilenceReport
    | HangReport
    | BrokenWorkloadReport
    | BreakageReport
    | RecoveryReport
)

_TEMPLATES: dict[type[Notice], str] = {
    QuarantineReport: "quarantine",
    WeeklyReport: "week",
    SilenceReport: "silence",
    HangReport: "hang",
    BrokenWorkloadReport: "workload",
    BreakageReport: "breakage",
    RecoveryReport: "recovery",
}
_HEAD = "  ended (UTC)           off by  average  {}s"


def notice_text(notice: Notice) -> str:
    """The mail as text of 80 columns, but for addresses, that ends in a newline."""
    return _rendered(f"{_TEMPLATES[type(notice)]}.txt", notice)


def notice_html(notice: Notice, pictures: Sequence[Picture] = ()) -> str:
    """The same as one HTML document that loads nothing but the mail's own pictures."""
    return _rendered(f"{_TEMPLATES[type(notice)]}.html", notice, pictures=pictures)


def compose_notice(
    notice: Notice, envelope: Envelope, pictures: Sequence[Picture] = ()
) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope,
        subject=notice.subject,
        text=notice_text(notice),
        html=notice_html(notice, pictures),
        pictures=pictures,
    )


def breakage_fragment(report: BreakageReport) -> ReportFragment:
    """A breakage as a part of a page: the card on top, and what opens below it."""
    return ReportFragment(
        card=_rendered("breakage_card.html", report, page=True),
        sections=_rendered("breakage_sections.html", report, page=True),
    )


def _rendered(template: str, notice: Notice, **others: Any) -> str:
    # The macros that a breakage shares with a search's report read the links from `setting`.
    known = {"report": notice, "setting": notice, "page": False, "run_table": run_table}
    return environment().get_template(template).render(known | others)


def run_table(runs: Sequence[ControlRun], iteration: str = "boot") -> str:
    """The rounds as aligned columns, the remark of one that was not good on a line of its own."""
    lines = [_HEAD.format(iteration)]
    for run in runs:
        off = "-" if run.deviation is None else percent(run.deviation)
        begin = f"  {moment(run.at_s)}  {off:>7}  {percent(run.average):>7}  "
        lines.append(wrap(" ".join(map(quantity, run.values)), first=begin))
        if run.remark:
            lines.append(wrap(run.remark, first=" " * 23 + "^ "))
    return "\n".join(line.rstrip() for line in lines)
