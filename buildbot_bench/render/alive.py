"""A farm's week as the mail to who answers for it; it knows neither how nor when it is sent."""

from __future__ import annotations

from email.message import EmailMessage

from buildbot_bench.core.report.alive import AliveReport
from buildbot_bench.render.environment import environment
from buildbot_bench.render.mime import Envelope, write_message


def alive_text(week: AliveReport) -> str:
    """The mail as text that ends in a newline."""
    return environment().get_template("alive.txt").render(week=week)


def alive_html(week: AliveReport) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("alive.html").render(week=week)


def compose_alive(week: AliveReport, envelope: Envelope) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope, subject=week.subject, text=alive_text(week), html=alive_html(week)
    )
