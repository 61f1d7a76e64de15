"""What a comparison came to, as values; it renders nothing.

All text that comes from elsewhere has gone through `one_line`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from buildbot_bench.core.json_model import Count, Figure, Share, in_json
from buildbot_bench.core.report import Contrast
from buildbot_bench.core.sample import Metric


class Verdict(StrEnum):
    """What Student's t and the smallest relevant effect say of one testbed and workload.

    `negligible`: the difference is proven and below what matters.
    """

    BETTER = "better"
    WORSE = "worse"
    NEGLIGIBLE = "negligible"
    NOT_PROVEN = "not proven"
    TOO_FEW = "too few values"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlameGraphs:
    """Where it is seen where the cycles of both sides go, and how they differ."""

    base: str
    new: str
    difference: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesValues:
    """What was measured on one testbed and workload, in the order measured; `facts` of the lab.

    `flame_graphs` is None where both sides were not sampled.
    """

    testbed: str
    workload: str
    metric: Metric
    base: tuple[float, ...]
    new: tuple[float, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    flame_graphs: FlameGraphs | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesReport:
    """The two sides on one testbed and workload, held against each other.

    `effect` and its interval `low` to `high` are fractions of the base's mean; null where there are
    too few values, and where a base of 0 leaves them without meaning.
    """

    testbed: str
    workload: str
    metric: Metric
    contrast: Contrast
    verdict: Verdict
    facts: Mapping[str, str]
    flame_graphs: FlameGraphs | None = None

    @property
    @in_json
    def effect(self) -> Figure | None:
        """By what fraction of the base's mean the new side differs."""
        found = self.contrast.comparison
        if found is None or not math.isfinite(found.difference_percent):
            return None
        return found.difference_percent / 100

    @property
    @in_json
    def low(self) -> Figure | None:
        """The interval's lower end."""
        return None if self.effect is None else self.effect - self._error

    @property
    @in_json
    def high(self) -> Figure | None:
        """The interval's upper end."""
        return None if self.effect is None else self.effect + self._error

    @property
    def _error(self) -> float:
        found = self.contrast.comparison
        return 0.0 if found is None else abs(found.error_percent) / 100


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestReport:
    """All of a comparison. `confidence` is in percent, `min_effect` a fraction.

    `detail` says why there is less than was asked for; empty when there is all of it.
    """

    comparison_id: int
    base: str
    new: str
    iterations: Count
    confidence: float
    min_effect: Share
    series: tuple[SeriesReport, ...]
    detail: str = ""
    farm: str = ""
    url: str = ""
    kind: Literal["comparison"] = "comparison"
