"""A report as Markdown, for a comment on GitHub or Phabricator."""

from __future__ import annotations

from buildbot_bench.core.report import Report
from buildbot_bench.render.environment import environment


def report_markdown(report: Report) -> str:
    """The whole report but its log of probes, as Markdown that ends in a newline."""
    template = environment().get_template("report.md")
    return template.render(report=report, setting=report.setting)
