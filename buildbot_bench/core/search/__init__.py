"""The bisection of a range of revisions, as a function of the evidence."""

from buildbot_bench.core.search.forecast import forecast
from buildbot_bench.core.search.model import (
    Answer,
    Costs,
    Evidence,
    Forecast,
    Measure,
    Measurement,
    OddImage,
    SearchPolicy,
    Slope,
    SlopePart,
    Step,
    Suspect,
)
from buildbot_bench.core.search.planner import (
    answer_early,
    meanwhile,
    no_change,
    noise_structure,
    plan,
    suspects,
)

__all__ = [
    "Answer",
    "Costs",
    "Evidence",
    "Forecast",
    "Measure",
    "Measurement",
    "OddImage",
    "SearchPolicy",
    "Slope",
    "SlopePart",
    "Step",
    "Suspect",
    "answer_early",
    "forecast",
    "meanwhile",
    "no_change",
    "noise_structure",
    "plan",
    "suspects",
]
