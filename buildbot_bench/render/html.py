"""A report as one HTML document that loads nothing, for a mail's second part and for a page."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.report import Report
from buildbot_bench.render.environment import environment
from buildbot_bench.render.picture import Picture


def report_html(report: Report, pictures: Sequence[Picture] = ()) -> str:
    """The whole report as HTML; every text in it is escaped, nothing is loaded from elsewhere.

    The pictures are those that the mail itself carries, found by their Content-ID.
    """
    template = environment().get_template("report.html")
    return template.render(report=report, setting=report.setting, pictures=pictures)
