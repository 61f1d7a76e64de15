"""A comparison of all values of a suite: its series, and its outcome in sentences and a table."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from buildbot_bench.core.compare.model import (
    ComparisonReport,
    SeriesReport,
    SeriesValues,
    VariantChange,
    Verdict,
)
from buildbot_bench.core.figures import fine_percent, quantity, size, threshold
from buildbot_bench.core.legible import display_width, one_line, shorten
from buildbot_bench.core.metric import Metric

MOST_ROWS = 40
"""Values of the table. Chosen: what a person reads; `--json` has all."""
_MOST_LEFT_OUT = 10  # values that are named although they are not compared
_COLUMNS = 80
_HEADINGS = ("value", "base", "new", "change", "interval", "verdict")
_LEAST_NAME, _MOST_LABEL = 20, 16
_HEAD = 3  # of what is kept of a long name, its beginning has one part in so many

Named = Callable[[str], str]
"""Writes the name of a value, which is a stranger's."""
Run = Mapping[Metric, float]
"""The values of a run by their metrics."""


def suite_series(
    runs: SeriesValues, named: Sequence[Sequence[Run]], labels: Sequence[str]
) -> tuple[list[SeriesValues], dict[str, str]]:
    """Return a series for each value, and why each of the others is not compared.

    `runs` are the runs of each variant, whose values do not matter, and `named` theirs. A value is
    compared that is above 0 in all runs: what a failure leaves would not be a fair sample.
    """
    series: list[SeriesValues] = []
    left_out: dict[str, str] = {}
    metrics = dict.fromkeys(chain.from_iterable(chain.from_iterable(named)))
    often = Counter(metric.name for metric in metrics)
    for metric in metrics:
        values = tuple(tuple(run[metric] for run in own if metric in run) for own in named)
        why = "its unit is not the same everywhere" if often[metric.name] > 1 else ""
        for label, own, had in zip(labels, named, values, strict=True):
            why = why or _why_not(label, len(own), had)
        if why:
            left_out[metric.name] = why
        else:
            series.append(replace(runs, metric=metric, values=values, times=()))
    return series, left_out


def _why_not(label: str, runs: int, had: Sequence[float]) -> str:
    if len(had) < runs:
        return f"not in every run of {label}" if had else f"not in {label}"
    wrong = next((value for value in had if not value > 0), None)
    if wrong is None:
        return ""
    return f"{wrong:g} in {label}, not above 0" if wrong <= 0 else f"no number in {label}"


def sentences(report: ComparisonReport, named: Named = str) -> Iterator[str]:
    """Say how many values are worse and better, and which the most; of each new variant."""
    several = len(report.variants) > 2  # noqa: PLR2004 - the base and one more
    for place, variant in enumerate(report.variants[1:]):
        found = [(series, series.changes[place]) for series in report.series]
        told = (_told(found, verdict, named) for verdict in (Verdict.WORSE, Verdict.BETTER))
        said = "; ".join(filter(None, told)) or f"None of {len(found):,} values is worse or better"
        yield f"{variant.label}: " * several + f"{said}."


def _told(
    found: Sequence[tuple[SeriesReport, VariantChange]], verdict: Verdict, named: Named
) -> str:
    of_it = [(series, change) for series, change in found if change.verdict == verdict]
    if not of_it:
        return ""
    series, change = max(of_it, key=lambda one: abs(one[1].effect or 0.0))
    are, most = ("are", " most") if len(of_it) > 1 else ("is", "")
    by = f"{named(series.metric.name)} by {size(change.effect or 0.0)}{most}"
    return f"{len(of_it):,} of {len(found):,} values {are} {verdict}: {by}"


def changed(report: ComparisonReport) -> list[tuple[SeriesReport, VariantChange]]:
    """Return the changes that are better or worse, the largest first."""
    found = [
        (series, change)
        for series in report.series
        for change in series.changes
        if change.verdict in {Verdict.WORSE, Verdict.BETTER}
    ]
    return sorted(found, key=lambda one: -abs(one[1].effect or 0.0))


def changed_rows(report: ComparisonReport, named: Named = str) -> tuple[tuple[str, ...], ...]:
    """Return the table of those that changed, at most MOST_ROWS; with headings if there are any."""
    several = len(report.variants) > 2  # noqa: PLR2004 - the base and one more
    rows = []
    for series, change in changed(report)[:MOST_ROWS]:
        found = change.comparison
        if found is not None:
            rows.append(
                (
                    named(series.metric.name),
                    *([shorten(change.label, _MOST_LABEL)] if several else []),
                    quantity(found.reference.mean),
                    f"{quantity(found.other.mean)} {one_line(series.metric.unit, columns=12)}",
                    fine_percent(found.difference_percent / 100),
                    f"+/- {found.error_percent:.2f} %",
                    change.verdict.value,
                )
            )
    headings = (*_HEADINGS[:1], *(["variant"] if several else []), *_HEADINGS[1:])
    return (headings, *rows) if rows else ()


def in_columns(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the rows with names so short that they fit a terminal, both ends of them kept."""
    if not rows:
        return ()
    others = sum(max(map(len, column)) + 2 for column in list(zip(*rows, strict=True))[1:])
    room = max(_COLUMNS - others, _LEAST_NAME)
    return tuple((_cut(row[0], room), *row[1:]) for row in rows)


def _cut(name: str, columns: int) -> str:
    if display_width(name) <= columns:
        return name
    head = shorten(name, columns // _HEAD)
    tail = name
    while display_width(tail) > columns - display_width(head):
        tail = tail[1:]
    return head + tail


def rest(report: ComparisonReport, named: Named = str) -> Iterator[str]:
    """Say what the table does not have: more of them, no difference, undecided, not compared."""
    told = changed(report)
    if (more := len(told) - MOST_ROWS) > 0:
        yield f"{more:,} more of them are in --json."
    if lucky := sum(not change.beyond_luck.separated for _, change in told):
        yield f"{lucky:,} of them not separated from layout."
    found = Counter(change.verdict for series in report.series for change in series.changes)
    if same := found[Verdict.NO_DIFFERENCE]:
        yield f"{same:,} without a difference of {threshold(report.min_effect)} or more."
    if unsure := found[Verdict.UNDECIDED] + found[Verdict.WITHIN_LUCK]:
        yield f"{unsure:,} undecided."
    # Of these one image of each side cannot tell, however often it runs.
    if blind := sum(
        one.p_corrected is None and one.beyond_luck.effect is not None
        for series in report.series
        for one in series.changes
    ):
        yield f"{blind:,} of them cannot be decided with one image of each."
    left_out = report.left_out or {}
    if left_out:
        yield f"{len(left_out):,} not compared:"
    yield from (f"  {named(name)}: {why}" for name, why in list(left_out.items())[:_MOST_LEFT_OUT])
    if (more := len(left_out) - _MOST_LEFT_OUT) > 0:
        yield f"  and {more:,} more, in --json"
    shared = [set(series.notes) for series in report.series]
    notes = report.series[0].notes if report.series else ()
    yield from (f"note: {note}" for note in notes if all(note in one for one in shared))
