"""The bisection of a range of revisions, as a function of the evidence."""

from buildbot_bench.core.search.forecast import forecast
from buildbot_bench.core.search.kinds import (
    answer_early,
    meanwhile,
    no_change,
    plan,
    suspects,
)
from buildbot_bench.core.search.model import (
    PREBUILT,
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
from buildbot_bench.core.search.planner import noise_structure

__all__ = [
    "PREBUILT",
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
