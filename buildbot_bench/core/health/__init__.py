"""Whether a testbed still measures what it did: a control chart of its control image."""

from buildbot_bench.core.health.chart import chart, learn_spread
from buildbot_bench.core.health.model import (
    Chart,
    ChartPolicy,
    Point,
    Round,
    RoundSpread,
    Signal,
    Span,
)
from buildbot_bench.core.health.recovery import GOOD_ROUNDS, has_recovered

__all__ = [
    "GOOD_ROUNDS",
    "Chart",
    "ChartPolicy",
    "Point",
    "Round",
    "RoundSpread",
    "Signal",
    "Span",
    "chart",
    "has_recovered",
    "learn_spread",
]
