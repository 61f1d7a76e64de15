"""A report as HTML that loads nothing, for mails, files and the farm's pages."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from buildbot_bench.core.report import Report
from buildbot_bench.render.environment import environment
from buildbot_bench.render.picture import Picture


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportFragment:
    """A report for a page that has a head of its own: the card on top, and what opens below it."""

    card: str
    sections: str


def report_html(report: Report, pictures: Sequence[Picture] = ()) -> str:
    """The whole report as HTML; every text in it is escaped, nothing is loaded from elsewhere.

    The pictures are those that the mail itself carries, found by their Content-ID.
    """
    return _rendered("report.html", report, pictures, _by_content_id, page=False)


def report_page(report: Report, pictures: Sequence[Picture]) -> str:
    """The whole report as one file that holds its pictures, for a browser."""
    return _rendered("report.html", report, pictures, held, page=True)


def report_fragment(report: Report, pictures: Sequence[Picture]) -> ReportFragment:
    """The same as a part of a page; it holds its pictures and has neither scripts nor styles."""
    card, sections = (
        _rendered(name, report, pictures, held, page=True)
        for name in ("report_card.html", "report_sections.html")
    )
    return ReportFragment(card=card, sections=sections)


def _rendered(
    name: str,
    report: Report,
    pictures: Sequence[Picture],
    source: Callable[[Picture], str],
    *,
    page: bool,
) -> str:
    return (
        environment()
        .get_template(name)
        .render(report=report, setting=report.setting, pictures=pictures, source=source, page=page)
    )


def _by_content_id(picture: Picture) -> str:
    return f"cid:{picture.content_id}"


def held(picture: Picture) -> str:
    """The address of a picture that a page holds itself."""
    return f"data:image/png;base64,{base64.b64encode(picture.png).decode('ascii')}"
