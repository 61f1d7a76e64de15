"""The mails on a breakage and on the end of an incident."""

from __future__ import annotations

from email.message import EmailMessage

from buildbot_bench.core.report.incident_mails import BreakageReport, RecoveryReport
from buildbot_bench.render.environment import environment
from buildbot_bench.render.html import ReportFragment
from buildbot_bench.render.mime import Envelope, write_message


def breakage_text(report: BreakageReport) -> str:
    """The breakage as text of 80 columns that ends in a newline."""
    return environment().get_template("breakage.txt").render(report=report)


def breakage_html(report: BreakageReport) -> str:
    """The same as one HTML document that loads nothing."""
    return _breakage_part("breakage.html", report, page=False)


def breakage_fragment(report: BreakageReport) -> ReportFragment:
    """The same as a part of a page: the card on top, and what opens below it."""
    card, sections = (
        _breakage_part(name, report, page=True)
        for name in ("breakage_card.html", "breakage_sections.html")
    )
    return ReportFragment(card=card, sections=sections)


def _breakage_part(name: str, report: BreakageReport, *, page: bool) -> str:
    # The macros that it shares with a search's report read the links from `setting`.
    return environment().get_template(name).render(report=report, setting=report, page=page)


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
