"""Reports, comparisons, judged series, glossary and badges as HTML and SVG, with their pictures."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache
from statistics import median

from markdown_it import MarkdownIt

from buildbot_bench.core.compare.model import ComparisonReport, SeriesReport
from buildbot_bench.core.compare.suite import rest, sentences
from buildbot_bench.core.compare.text import explanation, headline, image_lines, measured, table
from buildbot_bench.core.judge.recorded import JudgedSeries
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.report.evidence_model import ImageValues, Level
from buildbot_bench.core.report.model import Report, StepReport
from buildbot_bench.core.report.words import count, quantity
from buildbot_bench.core.sample import Iteration, Sample
from buildbot_bench.installed import shipped
from buildbot_bench.render.environment import rendered
from buildbot_bench.render.mime import Picture
from buildbot_bench.render.plots.distribution import BoxGroup, distribution
from buildbot_bench.render.plots.history import (
    HistoryMark,
    HistoryMarkKind,
    HistoryPoint,
    history,
    posterior,
)

# Verdana at 11 px, on average; a picture inside an <img> cannot ask the browser.
_CHARACTER_PX = 7
_PADDING_PX = 12


class Tone(StrEnum):
    """The right half's colour: the colour-blind can distinguish all; white letters are readable."""

    CALM = "#00639c"
    BUSY = "#6b6b6b"
    ALARM = "#b3450b"


def badge_svg(label: str, words: str, tone: Tone) -> str:
    """The picture as SVG text; the words may be a stranger's."""
    left, right = (_PADDING_PX + _CHARACTER_PX * len(text) for text in (label, words))
    known = {"label": label, "words": words, "colour": tone.value, "left": left, "right": right}
    return rendered("badge.svg", **known)


@cache
def glossary_html() -> str:
    """The whole page, which loads nothing; HTML within the Markdown is escaped."""
    text = shipped("docs/reference/glossary.md").read_text(encoding="utf-8")
    body = MarkdownIt("commonmark", {"html": False}).render(text)
    return rendered("glossary.html", body=body)


def report_html(report: Report, pictures: Sequence[Picture] = ()) -> str:
    """The whole report as HTML that loads nothing; its pictures are found by their Content-ID."""
    return _rendered("report.html", report, pictures, _by_content_id, page=False)


def report_page(report: Report) -> str:
    """The whole report as one file that holds its pictures, for a browser."""
    return _rendered("report.html", report, pictures_of(report), held, page=True)


def report_fragment(report: Report) -> dict[str, str]:
    """The card on top of a page and the sections below it, with neither scripts nor styles."""
    drawn = pictures_of(report)
    return {
        part: _rendered(f"report_{part}.html", report, drawn, held, page=True)
        for part in ("card", "sections")
    }


def _rendered(
    name: str,
    report: Report,
    pictures: Sequence[Picture],
    source: Callable[[Picture], str],
    *,
    page: bool,
) -> str:
    known = {"report": report, "setting": report.setting, "pictures": pictures, "source": source}
    return rendered(name, **known, page=page)


def _by_content_id(picture: Picture) -> str:
    return f"cid:{picture.content_id}"


def held(picture: Picture) -> str:
    """The address of a picture that a page holds itself."""
    return f"data:image/png;base64,{base64.b64encode(picture.png).decode('ascii')}"


def comparison_page(report: ComparisonReport) -> str:
    """The whole comparison; every text in it is escaped, and nothing is loaded from elsewhere."""
    return comparison_html(report, held)[0]


def comparison_html(
    report: ComparisonReport, source: Callable[[Picture], str] = _by_content_id
) -> tuple[str, tuple[Picture, ...]]:
    """The same for a mail, with the pictures that the mail is to carry."""
    is_suite = report.left_out is not None
    shown = [] if is_suite else measured(report)
    series = [(one, _picture(report, one, n)) for n, one in enumerate(shown)]
    html = rendered(
        "comparison.html",
        report=report,
        lead=[*(sentences(report) if is_suite else ()), headline(report)],
        rest=tuple(rest(report)) if is_suite else (),
        explanation=explanation(report),
        table=table(report),
        series=[(one, image_lines(one, report), picture) for one, picture in series],
        source=source,
    )
    return html, tuple(picture for _, picture in series if picture)


def _picture(report: ComparisonReport, series: SeriesReport, number: int) -> Picture | None:
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
    return rendered("report.md", report=report, setting=report.setting)


_MOST_PLOTS = 100
"""Chosen, not measured: a page that a browser still opens. Series with changes come first."""


def judged_page(
    judged: Sequence[JudgedSeries],
    heading: Callable[[JudgedSeries], str],
    sentences: Callable[[JudgedSeries], list[str]],
    sharing: str,
) -> str:
    """The whole page; every text in it is escaped, and nothing is loaded from elsewhere."""
    ordered = sorted(judged, key=lambda one: not one.alarms)
    shown = [
        (heading(one), sentences(one) or ["no change"], _plot(one) if n < _MOST_PLOTS else None)
        for n, one in enumerate(ordered)
    ]
    return rendered("judged.html", series=shown, sharing=sharing, source=held)


def _plot(one: JudgedSeries) -> Picture | None:
    """The values over the revisions, a level between two changes; None where no value is."""
    series = one.series
    points = [
        HistoryPoint(position=place, label=point.label, values=point.values)
        for place, point in enumerate(series.points)
    ]
    marks = [
        HistoryMark(
            position=alarm.began, kind=HistoryMarkKind.CULPRIT, text=f"{100 * alarm.effect:+.1f} %"
        )
        for _, alarm in one.alarms
    ]
    if not points:
        return None
    noise = learn(
        [
            Sample(
                label=point.label,
                position=point.position,
                metric=series.metric,
                iterations=tuple(Iteration(value=value) for value in point.values),
            )
            for point in points
        ]
    )
    metric = replace(series.metric, name=series.name[:40])
    return Picture(
        name="series.png",
        png=history(points, metric, title=series.name, sigma=noise.sigma_build, marks=marks),
        alternative=f"{series.name}: {len(points)} revisions, {len(marks)} changes",
    )


# More boxes than this are no longer told apart at a mail's width.
_MOST_GROUPS = 12
# A course of fewer measurements tells nothing that the log does not.
_FEWEST_STAGES = 4


def pictures_of(report: Report) -> tuple[Picture, ...]:
    """How the values next to the step are spread, and how the search came there; may be none."""
    step = report.headline
    if step is None or not report.measured:
        return ()
    found = [_distribution(report, step)]
    if len(report.stages) >= _FEWEST_STAGES:
        found.append(_posterior(report, step))
    return tuple(found)


def history_picture(
    report: Report, points: Sequence[HistoryPoint], marks: Sequence[HistoryMark], sigma: float
) -> Picture:
    """The series in which a report's step lies; `points` and `sigma` are those of `history`."""
    setting = report.setting
    title = f"{setting.workload} on {setting.testbed} over {len(points)} revisions"
    caption = ", ".join(f"{mark.kind.value} {mark.text}" for mark in marks) or "nothing marked"
    return Picture(
        name="history.png",
        png=history(points, setting.metric, title=title, sigma=sigma, marks=marks),
        alternative=f"{title}, {points[0].label} to {points[-1].label}: {caption}",
    )


def _distribution(report: Report, step: StepReport) -> Picture:
    setting = report.setting
    groups = [
        BoxGroup(
            label=one.label if not one.image else f"{one.label}/{one.image}",
            values=one.values,
            side="" if one.level is Level.OTHER else one.level.value,
        )
        for one in _nearest(report, step)
    ]
    title = f"{setting.workload} on {setting.testbed}: {setting.item.iteration}s of each revision"
    caption = "; ".join(
        f"{group.label} median {quantity(median(group.values))}" for group in groups
    )
    return Picture(
        name="distribution.png",
        png=distribution(groups, setting.metric, title=title),
        alternative=f"{title}, in {setting.metric.unit}: {caption}",
    )


def _posterior(report: Report, step: StepReport) -> Picture:
    title = f"The search of {report.old.label} to {report.new.label}"
    first = report.old.position
    sure = [step.new, *(other.new for other in report.other_steps if other.sure)]
    last = report.stages[-1]
    return Picture(
        name="search.png",
        png=posterior(
            report.stages,
            report.commits,
            title=title,
            ends=(report.old.label, report.new.label),
            culprits={new.position - first: new.label for new in sure},
        ),
        alternative=(
            f"{title}: {count(len(report.stages), 'measurement')} left "
            f"{count(last.left, 'commit')} of {report.commits} under suspicion"
        ),
    )


def _nearest(report: Report, step: StepReport) -> list[ImageValues]:
    """The images nearest to the step, in the order of the range."""
    middle = (step.old.position + step.new.position) / 2 - report.old.position
    ranked = sorted(report.measured, key=lambda one: abs(one.position - middle))
    return sorted(ranked[:_MOST_GROUPS], key=lambda one: (one.position, one.image))
