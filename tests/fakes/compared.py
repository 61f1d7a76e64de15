"""Comparisons of given values, and the noise of a testbed whose builds vary."""

from collections.abc import Mapping, Sequence
from typing import Any

from buildbot_bench.core.compare.model import ComparedVariant, ComparisonReport, SeriesValues
from buildbot_bench.core.compare.report import compose_comparison
from buildbot_bench.core.model.noise import Noise

LEARNT = Noise(
    sigma_run=0.005,
    sigma_build=0.016,
    df_run=100.0,
    df_build=44.0,
    far_share=0.02,
    far_below=0.01,
    far_weight=80.0,
)


def comparison_of(
    series: Sequence[SeriesValues],
    labels: Sequence[str] | Mapping[str, str] = (),
    **terms: Any,
) -> ComparisonReport:
    """The report of some series; `labels` of variants may be mapped to what they stand for."""
    names = labels or [f"r{n + 1}" for n in range(len(series[0].values))]
    stand_for = names if isinstance(names, Mapping) else dict(zip(names, names, strict=True))
    usual = {"comparison_id": 1, "iterations": 5, "confidence": 95.0, "min_effect": 0.02}
    return compose_comparison(
        series,
        variants=[ComparedVariant(label=name, variant=of) for name, of in stand_for.items()],
        **usual | terms,
    )
