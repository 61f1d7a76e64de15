"""A trial, the comparison of two variants that a person asks for: its order and its report."""

from buildbot_bench.core.trial.directory import GRAPH, Boot, Part, image_names, parts, result_files
from buildbot_bench.core.trial.model import (
    FlameGraphs,
    LaneReport,
    LaneValues,
    TrialReport,
    Verdict,
)
from buildbot_bench.core.trial.report import compose_trial
from buildbot_bench.core.trial.schedule import Block, TrialSide, next_block
from buildbot_bench.core.trial.text import markdown, text

__all__ = [
    "GRAPH",
    "Block",
    "Boot",
    "FlameGraphs",
    "LaneReport",
    "LaneValues",
    "Part",
    "TrialReport",
    "TrialSide",
    "Verdict",
    "compose_trial",
    "image_names",
    "markdown",
    "next_block",
    "parts",
    "result_files",
    "text",
]
