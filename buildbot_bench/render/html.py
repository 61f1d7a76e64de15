"""Reports and comparisons as HTML that loads nothing, and as Markdown for comments."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from buildbot_bench.core.compare import ComparisonReport, SeriesReport
from buildbot_bench.core.compare.text import explanation, headline, image_lines, measured, table
from buildbot_bench.core.report import Report
from buildbot_bench.core.report.words import count
from buildbot_bench.render.environment import environment
from buildbot_bench.render.picture import Picture
from buildbot_bench.render.plots import BoxGroup, distribution


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


def comparison_page(report: ComparisonReport) -> str:
    """The whole comparison; every text in it is escaped, and nothing is loaded from elsewhere."""
    series = [(one, _picture(report, one, n)) for n, one in enumerate(measured(report))]
    return (
        environment()
        .get_template("comparison.html")
        .render(
            report=report,
            headline=headline(report),
            explanation=explanation(report),
            table=table(report),
            series=[(one, image_lines(one, report), picture) for one, picture in series],
            source=held,
        )
    )


def _picture(report: ComparisonReport, series: SeriesReport, number: int) -> Picture | None:
    """How the values of each variant are spread; None where nothing was measured."""
    labels = [variant.label for variant in report.variants]
    groups = [
        BoxGroup(label=label, values=sample.values, side="new" if place else "old")
        for place, (label, sample) in enumerate(zip(labels, series.samples, strict=True))
        if sample.values
    ]
    if not groups:
        return None
    title = f"{series.workload} on {series.testbed}: {report.title}"
    told = (f"{group.label}, {count(len(group.values), 'value')}" for group in groups)
    return Picture(
        name=f"values-{number}.png",
        png=distribution(groups, series.metric, title=title),
        alternative=f"{title}; {'; '.join(told)}",
    )


def report_markdown(report: Report) -> str:
    """The whole report but its log of probes, as Markdown that ends in a newline."""
    template = environment().get_template("report.md")
    return template.render(report=report, setting=report.setting)
