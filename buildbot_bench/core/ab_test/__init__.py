"""Two to sixteen variants side by side, as a person asks for them: their order and the report."""

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
from buildbot_bench.core.ab_test.outcome import outcome
from buildbot_bench.core.ab_test.published import capture_name
from buildbot_bench.core.ab_test.report import compose_ab_test
from buildbot_bench.core.ab_test.schedule import MAX_VARIANTS, MIN_VARIANTS, Block, next_block
from buildbot_bench.core.ab_test.set_up import SetUpRow, set_ups
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
    "Profiles",
    "SeriesReport",
    "SeriesValues",
    "SetUpRow",
    "VariantChange",
    "Verdict",
    "capture_name",
    "check_identities",
    "check_written",
    "compose_ab_test",
    "epoch_name",
    "facts_of",
    "flame_graph_names",
    "image_names",
    "left_out",
    "markdown",
    "next_block",
    "of_newest_epoch",
    "outcome",
    "parts",
    "published_series",
    "result_files",
    "set_ups",
    "text",
    "title_of",
]
