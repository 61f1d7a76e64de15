"""A trial's report for a terminal and for a review's comment; it computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from buildbot_bench.core.report.words import count, quantity, threshold
from buildbot_bench.core.trial.model import LaneReport, TrialReport, Verdict

_COLUMNS = ("testbed", "workload", "base", "new", "change", "interval", "verdict")
_SAID = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.NEGLIGIBLE: "proven, but below {}",
    Verdict.NOT_PROVEN: "no difference proven",
    Verdict.TOO_FEW: "too few values",
}


def text(report: TrialReport) -> str:
    """The answer of bench-compare: a headline, one table, and a ministat block for each row."""
    parts = [_headline(report)]
    if report.detail:
        parts.append(report.detail)
    lanes = _measured(report)
    if lanes:
        parts.append(_aligned([_COLUMNS, *(_row(report, lane) for lane in lanes)]))
    for lane in lanes:
        notes = [f"note: {note}" for note in lane.contrast.notes]
        heading = f"{lane.workload} on {lane.testbed}"
        block = [lane.contrast.ministat] if lane.contrast.ministat else []
        graphs = [f"{what}: {link}" for what, link in _flame_graphs(lane)]
        parts.append("\n".join([heading, *block, *notes, *graphs]))
    return "\n\n".join(parts) + "\n"


def markdown(report: TrialReport) -> str:
    """A comment to paste into a review: the table, and each block folded away in a fence."""
    lanes = _measured(report)
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *(_row(report, lane) for lane in lanes)]
    lines = [f"**{_headline(report)}**", ""]
    if report.detail:
        lines += [report.detail, ""]
    if lanes:
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    lines += _blocks(lanes)
    if report.url:
        lines += ["", f"Measured by {report.farm}: {report.url}"]
    return "\n".join(lines) + "\n"


def _measured(report: TrialReport) -> list[LaneReport]:
    """The lanes in which anything was measured; a detail says why the others have nothing."""
    return [
        lane
        for lane in report.lanes
        if not report.detail or lane.contrast.old.values or lane.contrast.new.values
    ]


def _headline(report: TrialReport) -> str:
    boots = count(report.iterations, "boot")
    return (
        f"{report.new} against {report.base}: {boots} of each, "
        f"Student's t at {report.confidence:g}%, smallest relevant change "
        f"{threshold(report.min_effect)}"
    )


def _row(report: TrialReport, lane: LaneReport) -> tuple[str, ...]:
    said = _SAID[lane.verdict].format(threshold(report.min_effect))
    comparison = lane.contrast.comparison
    if comparison is None:
        return (lane.testbed, lane.workload, "", "", "", "", said)
    return (
        lane.testbed,
        lane.workload,
        quantity(comparison.reference.mean),
        quantity(comparison.other.mean),
        f"{comparison.difference_percent:+.2f}%",
        f"+/- {comparison.error_percent:.2f}%",
        said,
    )


def _blocks(lanes: Iterable[LaneReport]) -> list[str]:
    lines: list[str] = []
    for lane in lanes:
        if lane.contrast.ministat:
            lines += ["", f"{lane.workload} on {lane.testbed}:", ""]
            lines += ["```", *lane.contrast.ministat.splitlines(), "```"]
        if graphs := _flame_graphs(lane):
            where = f"{lane.workload} on {lane.testbed}"
            lines += ["", *(f"- {where}, {what}: {link}" for what, link in graphs)]
    return lines


def _flame_graphs(lane: LaneReport) -> list[tuple[str, str]]:
    """What each picture of a lane shows, and where it is; none where nothing was sampled."""
    graphs = lane.flame_graphs
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
