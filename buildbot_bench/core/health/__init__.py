"""The health of a testbed: control charts, recovery, and broken workloads."""

from buildbot_bench.core.health.chart import GOOD_ROUNDS, chart, has_recovered, learn_spread
from buildbot_bench.core.health.model import (
    Chart,
    ChartPolicy,
    Point,
    Round,
    RoundSpread,
    Signal,
    Span,
)
from buildbot_bench.core.health.workload import (
    Attempt,
    BrokenWorkload,
    Doubted,
    Works,
    broken_workload_text,
    judge_workload,
)

__all__ = [
    "GOOD_ROUNDS",
    "Attempt",
    "BrokenWorkload",
    "Chart",
    "ChartPolicy",
    "Doubted",
    "Point",
    "Round",
    "RoundSpread",
    "Signal",
    "Span",
    "Works",
    "broken_workload_text",
    "chart",
    "has_recovered",
    "judge_workload",
    "learn_spread",
]
