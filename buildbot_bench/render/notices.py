"""Mails that are no search's report, each by the templates of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

from buildbot_bench.core.report.farm_mails import ControlRun, QuarantineReport, WeeklyReport
from buildbot_bench.core.report.incident_mails import BreakageReport, RecoveryReport
from buildbot_bench.core.report.operator_mails import (
    BrokenWorkloadReport,
    HangReport,
    SilenceReport,
)
from buildbot_bench.core.report.words import percent, quantity
from buildbot_bench.render.environment import environment
from buildbot_bench.render.html import ReportFragment
from buildbot_bench.render.layout import moment, wrap
from buildbot_bench.render.mime import Envelope, Picture, write_message

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
