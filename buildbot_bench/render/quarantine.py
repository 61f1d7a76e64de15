"""A testbed out of control as the mail to its owner; it knows neither how nor when it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from email.message import EmailMessage

from buildbot_bench.core.report.lab import ControlRun, LabReport
from buildbot_bench.core.report.words import percent, quantity
from buildbot_bench.render.environment import environment
from buildbot_bench.render.layout import moment, wrap
from buildbot_bench.render.mime import Envelope, write_message
from buildbot_bench.render.picture import Picture

_HEAD = "  ended (UTC)           off by  average  boots"


def quarantine_text(lab: LabReport) -> str:
    """The mail as text of 80 columns that ends in a newline."""
    return environment().get_template("quarantine.txt").render(lab=lab, run_table=run_table)


def quarantine_html(lab: LabReport, pictures: Sequence[Picture] = ()) -> str:
    """The same as one HTML document that loads nothing but the mail's own pictures."""
    return environment().get_template("quarantine.html").render(lab=lab, pictures=pictures)


def compose_quarantine(
    lab: LabReport, envelope: Envelope, pictures: Sequence[Picture] = ()
) -> EmailMessage:
    """The whole mail."""
    return write_message(
        envelope,
        subject=lab.subject,
        text=quarantine_text(lab),
        html=quarantine_html(lab, pictures),
        pictures=pictures,
    )


def run_table(runs: Sequence[ControlRun]) -> str:
    """The rounds as aligned columns, the remark of one that was not good on a line of its own."""
    lines = [_HEAD]
    for run in runs:
        off = "-" if run.deviation is None else percent(run.deviation)
        begin = f"  {moment(run.at_s)}  {off:>7}  {percent(run.average):>7}  "
        lines.append(wrap(" ".join(map(quantity, run.values)), first=begin))
        if run.remark:
            lines.append(wrap(run.remark, first=" " * 23 + "^ "))
    return "\n".join(line.rstrip() for line in lines)
