"""A comparison's report as text for a terminal and as Markdown for a review comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from buildbot_bench.core.ab_test.model import AbTestReport, SeriesReport, VariantChange
from buildbot_bench.core.figures import count, fine_percent, quantity, threshold

_COLUMNS = (
    *("testbed", "workload", "variant", "base", "new"),
    *("change", "interval", "p", "p (Holm)", "verdict"),
)
_LEAST_P = 0.0001


def text(report: AbTestReport) -> str:
    """The answer of bench-compare: a headline, one table, and ministat's blocks for each series."""
    parts = [headline(report), "\n".join([*_legend(report), *_method(report)])]
    if report.detail:
        parts.append(report.detail)
    all_series = measured(report)
    if all_series:
        parts.append(_aligned([_COLUMNS, *_rows(all_series)]))
    for series in all_series:
        heading = f"{series.workload} on {series.testbed}"
        images = image_lines(series, report)
        notes = [f"note: {note}" for note in series.notes]
        graphs = [f"{what}: {link}" for what, link in _flame_graphs(series)]
        blocks = "\n\n".join(series.ministat).splitlines()
        parts.append("\n".join([heading, *blocks, *images, *notes, *graphs]))
    return "\n\n".join(parts) + "\n"


def markdown(report: AbTestReport) -> str:
    """A comment to paste into a review: the table, and each block folded away in a fence."""
    all_series = measured(report)
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *_rows(all_series)]
    lines = [f"**{headline(report)}**", ""]
    if legend := _legend(report):
        lines += [*(f"* {line}" for line in legend), ""]
    lines += [*_method(report), ""]
    if report.detail:
        lines += [report.detail, ""]
    if all_series:
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    lines += _blocks(all_series, report)
    if report.url:
        lines += ["", f"Measured by {report.farm}: {report.url}"]
    return "\n".join(lines) + "\n"


def table(report: AbTestReport) -> tuple[tuple[str, ...], ...]:
    """The one table: its headings, and a row for each new variant of each series."""
    return (_COLUMNS, *_rows(measured(report)))


def explanation(report: AbTestReport) -> tuple[str, ...]:
    """What each variant is, in what order they were measured, and what was corrected for."""
    return (*_legend(report), *_method(report))


def measured(report: AbTestReport) -> list[SeriesReport]:
    """The series in which anything was measured; a detail says why the others have nothing."""
    return [series for series in report.series if not report.detail or series.is_measured]


def headline(report: AbTestReport) -> str:
    """What was compared, how often, and what counts as a change."""
    boots = f"{count(report.iterations, report.item.iteration)} of each"
    if report.images > 1:
        boots += f"'s first image, at most {report.images} images of each"
    return (
        f"{report.title}: {boots}, "
        f"Student's t at {report.confidence:g} %, smallest relevant change "
        f"{threshold(report.min_effect)}"
    )


def _legend(report: AbTestReport) -> list[str]:
    """What each variant is, where its label does not say so."""
    return [
        f"{variant.label} is {variant.variant}"
        for variant in report.variants
        if variant.label != variant.variant
    ]


def _method(report: AbTestReport) -> Iterator[str]:
    yield report.order
    yield report.drift
    if report.tests > 1:
        yield f"p (Holm) is corrected for {report.tests} tests."


def _rows(all_series: Iterable[SeriesReport]) -> Iterator[tuple[str, ...]]:
    for series in all_series:
        for change in series.changes:
            yield series.testbed, series.workload, change.label, *_figures(change)


def _figures(change: VariantChange) -> tuple[str, ...]:
    said = change.beyond_luck.said
    comparison = change.comparison
    if comparison is None:
        return ("", "", "", "", "", "", said)
    return (
        quantity(comparison.reference.mean),
        quantity(comparison.other.mean),
        fine_percent(comparison.difference_percent / 100),
        f"+/- {comparison.error_percent:.2f} %",
        _p(change.p_value),
        _p(change.p_corrected),
        said,
    )


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"<{_LEAST_P}" if value < _LEAST_P else f"{value:.2g}"


def image_lines(series: SeriesReport, report: AbTestReport) -> list[str]:
    """How many images and boots each variant has, and their levels; none where one each is all."""
    if all(len(images) <= 1 for images in series.images):
        return []
    noun = report.item.iteration
    lines = [f"Images, each linked in another order, with the means of their {noun}s:"]
    for variant, images in zip(report.variants, series.images, strict=True):
        boots = count(sum(image.boots for image in images), noun)
        levels = ", ".join(
            f"{image.image}: {quantity(image.level)} ({image.boots})" for image in images
        )
        lines.append(f"  {variant.label}: {count(len(images), 'image')}, {boots}: {levels}")
    return [*lines, f"Student's t and ministat pool the {noun}s of all images of a variant."]


def _blocks(all_series: Iterable[SeriesReport], report: AbTestReport) -> list[str]:
    lines: list[str] = []
    for series in all_series:
        where = f"{series.workload} on {series.testbed}"
        for number, block in enumerate(series.ministat, start=1):
            part = f", part {number} of {len(series.ministat)}" if len(series.ministat) > 1 else ""
            lines += ["", f"{where}{part}:", "", "```", *block.splitlines(), "```"]
        if images := image_lines(series, report):
            lines += ["", images[0], "", *(f"- {line.strip()}" for line in images[1:-1])]
            lines += ["", images[-1]]
        if series.notes:
            lines += ["", *(f"* {where}: {note}" for note in series.notes)]
        if graphs := _flame_graphs(series):
            lines += ["", *(f"- {where}, {what}: {link}" for what, link in graphs)]
    return lines


def _flame_graphs(series: SeriesReport) -> list[tuple[str, str]]:
    """What each picture of a series shows, and where it is; none where nothing was sampled."""
    found: dict[str, str] = {}
    for change in series.changes:
        if graphs := change.flame_graphs:
            found["flame graph of the base"] = graphs.base
            found[f"of {change.label}"] = graphs.new
            found[f"of the difference of {change.label} from the base"] = graphs.difference
    return list(found.items())


def _cell(value: str) -> str:
    return value.replace("|", "\\|")


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
