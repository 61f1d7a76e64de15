"""A report as one HTML document that loads nothing, for a mail's second part and for a page."""

from __future__ import annotations

import base64
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


def report_page(report: Report, pictures: Sequence[Picture]) -> str:
    """The whole report as one file that holds its pictures, for a browser."""
    page = report_html(report, pictures)
    for picture in pictures:
        data = base64.b64encode(picture.png).decode("ascii")
        named = f'src="cid:{picture.content_id}"'
        page = page.replace(named, f'src="data:image/png;base64,{data}"')
    return page
