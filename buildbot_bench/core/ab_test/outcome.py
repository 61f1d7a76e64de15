"""A comparison's outcome in one line, for a list of them; it computes nothing."""

from __future__ import annotations

from buildbot_bench.core.ab_test.model import AbTestReport, SeriesReport
from buildbot_bench.core.legible import long_line


def outcome(report: AbTestReport) -> str:
    """`forwarding +1.45% better, pf-statefull -2.40% worse`; empty when nothing was measured."""
    testbeds = {series.testbed for series in report.series}
    said = [
        _of_series(series, testbed=series.testbed if len(testbeds) > 1 else "")
        for series in report.series
        if series.contrast.old.values and series.contrast.new.values
    ]
    return long_line(", ".join(said))


def _of_series(series: SeriesReport, *, testbed: str) -> str:
    where = f"{series.workload} on {testbed}" if testbed else series.workload
    change = "" if series.effect is None else f" {series.effect:+.2%}"
    return f"{where}{change} {series.verdict}"
