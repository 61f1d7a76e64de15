"""A comparison's report for a terminal and for a review's comment; it computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from buildbot_bench.core.ab_test.model import AbTestReport, SeriesReport, Verdict
from buildbot_bench.core.report.words import count, quantity, threshold

_COLUMNS = ("testbed", "workload", "base", "new", "change", "interval", "verdict")
_SAID = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.NEGLIGIBLE: "proven, but below {}",
    Verdict.NOT_PROVEN: "no difference proven",
    Verdict.TOO_FEW: "too few values",
}


def text(report: AbTestReport) -> str:
    """The answer of bench-compare: a headline, one table, and a ministat block for each row."""
    parts = [_headline(report)]
    if report.detail:
        parts.append(report.detail)
    all_series = _measured(report)
    if all_series:
        parts.append(_aligned([_COLUMNS, *(_row(report, series) for series in all_series)]))
    for series in all_series:
        notes = [f"note: {note}" for note in series.contrast.notes]
        heading = f"{series.workload} on {series.testbed}"
        block = [series.contrast.ministat] if series.contrast.ministat else []
        graphs = [f"{what}: {link}" for what, link in _flame_graphs(series)]
        parts.append("\n".join([heading, *block, *notes, *graphs]))
    return "\n\n".join(parts) + "\n"


def markdown(report: AbTestReport) -> str:
    """A comment to paste into a review: the table, and each block folded away in a fence."""
    all_series = _measured(report)
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *(_row(report, series) for series in all_series)]
    lines = [f"**{_headline(report)}**", ""]
    if report.detail:
        lines += [report.detail, ""]
    if all_series:
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    lines += _blocks(all_series)
    if report.url:
        lines += ["", f"Measured by {report.farm}: {report.url}"]
    return "\n".join(lines) + "\n"


def _measured(report: AbTestReport) -> list[SeriesReport]:
    """The series in which anything was measured; a detail says why the others have nothing."""
    return [
        series
        for series in report.series
        if not report.detail or series.contrast.old.values or series.contrast.new.values
    ]


def _headline(report: AbTestReport) -> str:
    boots = count(report.iterations, "boot")
    return (
        f"{report.new} against {report.base}: {boots} of each, "
        f"Student's t at {report.confidence:g}%, smallest relevant change "
        f"{threshold(report.min_effect)}"
    )


def _row(report: AbTestReport, series: SeriesReport) -> tuple[str, ...]:
    said = _SAID[series.verdict].format(threshold(report.min_effect))
    comparison = series.contrast.comparison
    if comparison is None:
        return (series.testbed, series.workload, "", "", "", "", said)
    return (
        series.testbed,
        series.workload,
        quantity(comparison.reference.mean),
        quantity(comparison.other.mean),
        f"{comparison.difference_percent:+.2f}%",
        f"+/- {comparison.error_percent:.2f}%",
        said,
    )


def _blocks(all_series: Iterable[SeriesReport]) -> list[str]:
    lines: list[str] = []
    for series in all_series:
        if series.contrast.ministat:
            lines += ["", f"{series.workload} on {series.testbed}:", ""]
            lines += ["```", *series.contrast.ministat.splitlines(), "```"]
        if graphs := _flame_graphs(series):
            where = f"{series.workload} on {series.testbed}"
            lines += ["", *(f"- {where}, {what}: {link}" for what, link in graphs)]
    return lines


def _flame_graphs(series: SeriesReport) -> list[tuple[str, str]]:
    """What each picture of a series shows, and where it is; none where nothing was sampled."""
    graphs = series.flame_graphs
    if graphs is None:
        return []
    return [
        ("flame graph of the base", graphs.base),
        ("of the new one", graphs.new),
        ("of their difference", graphs.difference),
    ]


def _cell(value: str) -> str:
    return value.replace("|", "\\|")


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
