"""Compares the two sides and says what it came to; it measures and renders nothing."""

from __future__ import annotations

from collections.abc import Iterable

from buildbot_bench.core.ab_test.model import AbTestReport, SeriesReport, SeriesValues, Verdict
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.model.thresholds import is_change
from buildbot_bench.core.report import Contrast, Side
from buildbot_bench.core.report.steps import contrast


def compose_ab_test(
    all_series: Iterable[SeriesValues],
    *,
    comparison_id: int,
    base: str,
    new: str,
    iterations: int,
    confidence: float,
    min_effect: float,
    detail: str = "",
    farm: str = "",
    url: str = "",
) -> AbTestReport:
    """The report of what was measured; `base` and `new` are the variants' labels."""
    return AbTestReport(
        comparison_id=comparison_id,
        base=one_line(base),
        new=one_line(new),
        iterations=iterations,
        confidence=confidence,
        min_effect=min_effect,
        series=tuple(
            _series(
                values, one_line(base), one_line(new), confidence=confidence, min_effect=min_effect
            )
            for values in all_series
        ),
        detail=one_line(detail, columns=300),
        farm=one_line(farm),
        url=url,
    )


def _series(
    values: SeriesValues, base: str, new: str, *, confidence: float, min_effect: float
) -> SeriesReport:
    what = f"{values.workload} ({one_line(values.metric.unit)})"
    found = contrast(
        Side(label=f"{base} {what}", values=values.base),
        Side(label=f"{new} {what}", values=values.new),
        metric=values.metric,
        confidence=confidence,
    )
    return SeriesReport(
        testbed=values.testbed,
        workload=values.workload,
        metric=values.metric,
        contrast=found,
        verdict=_verdict(found, min_effect, higher_is_better=values.metric.higher_is_better),
        facts={one_line(name): one_line(str(value)) for name, value in values.facts.items()},
        flame_graphs=values.flame_graphs,
    )


def _verdict(found: Contrast, min_effect: float, *, higher_is_better: bool) -> Verdict:
    comparison = found.comparison
    if comparison is None:
        return Verdict.TOO_FEW
    if not comparison.significant:
        return Verdict.NOT_PROVEN
    if not is_change(comparison.difference_percent / 100, min_effect):
        return Verdict.NEGLIGIBLE
    return Verdict.BETTER if (comparison.difference > 0) == higher_is_better else Verdict.WORSE
