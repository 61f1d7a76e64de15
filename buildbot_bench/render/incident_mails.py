"""The mails about a breakage and about the end of an incident; it sends none."""

from __future__ import annotations

from email.message import EmailMessage

from buildbot_bench.core.report.incident_mails import BreakageReport, RecoveryReport
from buildbot_bench.render.environment import environment
from buildbot_bench.render.mime import Envelope, write_message


def breakage_text(report: BreakageReport) -> str:
    """The breakage as text of 80 columns that ends in a newline."""
    return environment().get_template("breakage.txt").render(report=report)


def breakage_html(report: BreakageReport) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("breakage.html").render(report=report)


def compose_breakage(report: BreakageReport, envelope: Envelope) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope,
        subject=report.subject,
        text=breakage_text(report),
        html=breakage_html(report),
    )


def recovery_text(report: RecoveryReport) -> str:
    """The end of an incident as text of 80 columns that ends in a newline."""
    return environment().get_template("recovery.txt").render(report=report)


def recovery_html(report: RecoveryReport) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("recovery.html").render(report=report)


def compose_recovery(report: RecoveryReport, envelope: Envelope) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope,
        subject=report.subject,
        text=recovery_text(report),
        html=recovery_html(report),
    )
