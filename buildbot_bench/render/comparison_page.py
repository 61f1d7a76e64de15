"""A comparison's report as one HTML file with its plots."""

from __future__ import annotations

from buildbot_bench.core.ab_test import AbTestReport, SeriesReport
from buildbot_bench.core.ab_test.text import explanation, headline, image_lines, measured, table
from buildbot_bench.core.report.words import count
from buildbot_bench.render.environment import environment
from buildbot_bench.render.html import held
from buildbot_bench.render.picture import Picture
from buildbot_bench.render.plots import BoxGroup, distribution


def comparison_page(report: AbTestReport) -> str:
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


def _picture(report: AbTestReport, series: SeriesReport, number: int) -> Picture | None:
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
