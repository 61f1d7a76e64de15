"""A comparison, the comparison of two variants that a person asks for: its order and its report."""

from buildbot_bench.core.ab_test.directory import (
    GRAPH,
    BootLog,
    Part,
    image_names,
    parts,
    result_files,
)
from buildbot_bench.core.ab_test.model import (
    AbTestReport,
    FlameGraphs,
    SeriesReport,
    SeriesValues,
    Verdict,
)
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
    "SeriesReport",
    "SeriesValues",
    "Verdict",
    "compose_ab_test",
    "image_names",
    "markdown",
    "next_block",
    "parts",
    "result_files",
    "text",
]
