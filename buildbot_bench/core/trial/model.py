"""What a trial came to, as values; it renders nothing.

All text that comes from elsewhere has gone through `plain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

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
class LaneValues:
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
class LaneReport:
    """The two sides on one testbed and workload, held against each other."""

    testbed: str
    workload: str
    metric: Metric
    contrast: Contrast
    verdict: Verdict
    facts: Mapping[str, str]
    flame_graphs: FlameGraphs | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialReport:
    """All of a trial. `confidence` is in percent, `min_effect` a fraction.

    `detail` says why there is less than was asked for; empty when there is all of it.
    """

    trial_id: int
    base: str
    new: str
    iterations: int
    confidence: float
    min_effect: float
    lanes: tuple[LaneReport, ...]
    detail: str = ""
    farm: str = ""
    url: str = ""
