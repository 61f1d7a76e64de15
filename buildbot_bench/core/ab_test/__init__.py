"""Two to sixteen variants side by side, as a person asks for them: their order and the report."""

from buildbot_bench.core.ab_test.directory import (
    GRAPH,
    BootLog,
    Part,
    image_names,
    parts,
    result_files,
)
from buildbot_bench.core.ab_test.epochs import epoch_name, left_out, of_newest_epoch
from buildbot_bench.core.ab_test.model import (
    AbTestReport,
    ComparedVariant,
    FlameGraphs,
    SeriesReport,
    SeriesValues,
    VariantChange,
    Verdict,
    title_of,
)
from buildbot_bench.core.ab_test.naming import Identity, check_identities, check_written
from buildbot_bench.core.ab_test.report import compose_ab_test
from buildbot_bench.core.ab_test.schedule import MAX_VARIANTS, MIN_VARIANTS, Block, next_block
from buildbot_bench.core.ab_test.text import markdown, text

__all__ = [
    "GRAPH",
    "MAX_VARIANTS",
    "MIN_VARIANTS",
    "AbTestReport",
    "Block",
    "BootLog",
    "ComparedVariant",
    "FlameGraphs",
    "Identity",
    "Part",
    "SeriesReport",
    "SeriesValues",
    "VariantChange",
    "Verdict",
    "check_identities",
    "check_written",
    "compose_ab_test",
    "epoch_name",
    "image_names",
    "left_out",
    "markdown",
    "next_block",
    "of_newest_epoch",
    "parts",
    "result_files",
    "text",
    "title_of",
]
