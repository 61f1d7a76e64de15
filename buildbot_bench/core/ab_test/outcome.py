"""A comparison's outcome in one line, for lists of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.ab_test.model import (
    AbTestReport,
    ComparedVariant,
    SeriesReport,
    SeriesValues,
    VariantChange,
    Verdict,
)
from buildbot_bench.core.ab_test.report import compose_ab_test
from buildbot_bench.core.figures import fine_percent
from buildbot_bench.core.legible import long_line

_TOLD_FIRST = (
    *(Verdict.WORSE, Verdict.BETTER),
    *(Verdict.WITHIN_LUCK, Verdict.UNDECIDED, Verdict.NO_DIFFERENCE),
)


def outcome_of(
    all_series: Sequence[SeriesValues], labels: Sequence[str], confidence: float, min_effect: float
) -> str:
    """The outcome of what was measured of some variants, the base first."""
    report = compose_ab_test(
        all_series,
        comparison_id=0,
        variants=[ComparedVariant(label=label, variant=label) for label in labels],
        iterations=0,
        confidence=confidence,
        min_effect=min_effect,
    )
    return outcome(report)


def outcome(report: AbTestReport) -> str:
    """`forwarding +1.45 % better, pf-statefull -2.40 % worse`; empty when nothing was measured.

    Of several new variants `forwarding: 2 worse (most r311849 -25.60 %), 1 undecided`.
    """
    testbeds = {series.testbed for series in report.series}
    several = len(report.variants[1:]) > 1
    said: list[str] = []
    for series in report.series:
        where = series.workload if len(testbeds) == 1 else f"{series.workload} on {series.testbed}"
        changes = _measured(series)
        if several and changes:
            said.append(f"{where}: {_counted(series, changes)}")
        elif changes:
            (change,) = changes
            said.append(f"{where}{_effect(change)} {change.verdict}")
    return long_line(("; " if several else ", ").join(said))


def _measured(series: SeriesReport) -> list[VariantChange]:
    """The changes of which both variant and base have values."""
    base, *others = series.samples
    sides = zip(series.changes, others, strict=True)
    return [change for change, sample in sides if base.values and sample.values]


def _counted(series: SeriesReport, changes: Sequence[VariantChange]) -> str:
    """How many variants have each verdict, and which is the most of those that changed."""
    said: list[str] = []
    for verdict in _TOLD_FIRST:
        of_it = [change for change in changes if change.verdict == verdict]
        if of_it and verdict in {Verdict.WORSE, Verdict.BETTER}:
            most = max(of_it, key=lambda change: abs(change.effect or 0.0))
            which = "most " if len(of_it) > 1 else ""
            said.append(f"{len(of_it)} {verdict} ({which}{most.label}{_effect(most)})")
        elif of_it:
            said.append(f"{len(of_it)} {verdict}")
    if missing := len(series.changes) - len(changes):
        said.append(f"{missing} not measured")
    return ", ".join(said)


def _effect(change: VariantChange) -> str:
    return "" if change.effect is None else f" {fine_percent(change.effect)}"
