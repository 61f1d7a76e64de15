"""The mail that carries one report or several."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from email.message import EmailMessage

from buildbot_bench.core.report import Report
from buildbot_bench.core.report.words import digest_subject
from buildbot_bench.render.environment import environment
from buildbot_bench.render.html import report_html
from buildbot_bench.render.mime import Envelope, Picture, parse_address, write_message
from buildbot_bench.render.text import report_text

__all__ = [
    "compose_digest",
    "compose_message",
    "incident_id",
    "new_message_id",
    "parse_address",
]


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
    """The report as a mail: plain text first, then HTML with the same content and the pictures.

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
        text=report_text(report),
        html=report_html(report, pictures),
        pictures=pictures,
    )


def compose_digest(reports: Sequence[Report], envelope: Envelope) -> EmailMessage:
    """Improvements as one mail, in the order in which they were found; at least one."""
    return write_message(
        envelope,
        subject=digest_subject(reports),
        text=digest_text(reports),
        html=digest_html(reports),
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
