"""A comparison, the comparison of two variants that a person asks for: its order and its report."""

from buildbot_bench.core.ab_test.directory import (
    GRAPH,
    BootLog,
    Part,
    Profiles,
    facts_of,
    flame_graph_names,
    image_names,
    parts,
    published_series,
    result_files,
)
from buildbot_bench.core.ab_test.model import (
    AbTestReport,
    FlameGraphs,
    SeriesReport,
    SeriesValues,
    Verdict,
)
from buildbot_bench.core.ab_test.outcome import outcome
from buildbot_bench.core.ab_test.published import SetUpFact, capture_name, set_ups
from buildbot_bench.core.ab_test.report import compose_ab_test
from buildbot_bench.core.ab_test.schedule import AbTestSide, Block, next_block
from buildbot_bench.core.ab_test.text import markdown, text

__all__ = [
    "GRAPH",
    "AbTestReport",
    "AbTestSide",
    "Block",
    "BootLog",
    "FlameGraphs",
    "Part",
    "Profiles",
    "SeriesReport",
    "SeriesValues",
    "SetUpFact",
    "Verdict",
    "capture_name",
    "compose_ab_test",
    "facts_of",
    "flame_graph_names",
    "image_names",
    "markdown",
    "next_block",
    "outcome",
    "parts",
    "published_series",
    "result_files",
    "set_ups",
    "text",
]
