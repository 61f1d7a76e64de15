"""Mails on a farm itself: testbeds out of control or silent, broken workloads, hangs, the week."""

from __future__ import annotations

from collections.abc import Sequence
from email.message import EmailMessage

from buildbot_bench.core.report.farm_mails import ControlRun, QuarantineReport, WeeklyReport
from buildbot_bench.core.report.operator_mails import (
    BrokenWorkloadReport,
    HangReport,
    SilenceReport,
)
from buildbot_bench.core.report.words import percent, quantity
from buildbot_bench.render.environment import environment
from buildbot_bench.render.layout import moment, wrap
from buildbot_bench.render.mime import Envelope, write_message
from buildbot_bench.render.picture import Picture

_HEAD = "  ended (UTC)           off by  average  {}s"


def quarantine_text(lab: QuarantineReport) -> str:
    """The mail as text of 80 columns that ends in a newline."""
    return environment().get_template("quarantine.txt").render(lab=lab, run_table=run_table)


def quarantine_html(lab: QuarantineReport, pictures: Sequence[Picture] = ()) -> str:
    """The same as one HTML document that loads nothing but the mail's own pictures."""
    return environment().get_template("quarantine.html").render(lab=lab, pictures=pictures)


def compose_quarantine(
    lab: QuarantineReport, envelope: Envelope, pictures: Sequence[Picture] = ()
) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope,
        subject=lab.subject,
        text=quarantine_text(lab),
        html=quarantine_html(lab, pictures),
        pictures=pictures,
    )


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


def week_text(week: WeeklyReport) -> str:
    """The mail as text that ends in a newline."""
    return environment().get_template("week.txt").render(week=week)


def week_html(week: WeeklyReport) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("week.html").render(week=week)


def compose_week(week: WeeklyReport, envelope: Envelope) -> EmailMessage:
    """The whole mail."""
    return write_message(envelope, subject=week.subject, text=week_text(week), html=week_html(week))


def silence_text(report: SilenceReport) -> str:
    """The mail as text that ends in a newline."""
    return environment().get_template("silence.txt").render(report=report)


def silence_html(report: SilenceReport) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("silence.html").render(report=report)


def compose_silence(report: SilenceReport, envelope: Envelope) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope, subject=report.subject, text=silence_text(report), html=silence_html(report)
    )


def hang_text(report: HangReport) -> str:
    """The mail as text that ends in a newline."""
    return environment().get_template("hang.txt").render(report=report)


def hang_html(report: HangReport) -> str:
    """The same as one HTML document that loads nothing."""
    return environment().get_template("hang.html").render(report=report)


def compose_hang(report: HangReport, envelope: Envelope) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope, subject=report.subject, text=hang_text(report), html=hang_html(report)
    )


def broken_workload_mail_text(report: BrokenWorkloadReport) -> str:
    """The plain text, in at most 80 columns but for addresses."""
    return environment().get_template("workload.txt").render(report=report)


def broken_workload_html(report: BrokenWorkloadReport) -> str:
    """The same as HTML."""
    return environment().get_template("workload.html").render(report=report)


def compose_broken_workload(report: BrokenWorkloadReport, envelope: Envelope) -> EmailMessage:
    """The mail about a workload that is broken."""
    return write_message(
        envelope,
        subject=report.subject,
        text=broken_workload_mail_text(report),
        html=broken_workload_html(report),
    )
