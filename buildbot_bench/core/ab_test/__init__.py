"""Comparisons of two to sixteen variants: order of boots, verdict and report."""

from buildbot_bench.core.ab_test.alike import no_op, same_as, why_one_image
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
from buildbot_bench.core.ab_test.further import (
    BootLimits,
    VariantPlan,
    expected_boots,
    more_images,
)
from buildbot_bench.core.ab_test.model import (
    AbTestReport,
    ComparedVariant,
    FlameGraphs,
    MeasuredImage,
    SeriesReport,
    SeriesValues,
    VariantChange,
    Verdict,
    title_of,
)
from buildbot_bench.core.ab_test.naming import Identity, check_identities, check_written
from buildbot_bench.core.ab_test.outcome import outcome, outcome_of
from buildbot_bench.core.ab_test.published import capture_name
from buildbot_bench.core.ab_test.recorded import recorded_boots
from buildbot_bench.core.ab_test.report import compose_ab_test
from buildbot_bench.core.ab_test.schedule import (
    MAX_VARIANTS,
    MIN_VARIANTS,
    Block,
    ImageBoots,
    next_block,
)
from buildbot_bench.core.ab_test.set_up import SetUpRow, set_ups
from buildbot_bench.core.ab_test.sides import ComparisonTerms
from buildbot_bench.core.ab_test.text import markdown, text
from buildbot_bench.core.limits import DEFAULT_IMAGES, MOST_IMAGES

__all__ = [
    "DEFAULT_IMAGES",
    "GRAPH",
    "MAX_VARIANTS",
    "MIN_VARIANTS",
    "MOST_IMAGES",
    "AbTestReport",
    "Block",
    "BootLimits",
    "BootLog",
    "ComparedVariant",
    "ComparisonTerms",
    "FlameGraphs",
    "Identity",
    "ImageBoots",
    "MeasuredImage",
    "Part",
    "Profiles",
    "SeriesReport",
    "SeriesValues",
    "SetUpRow",
    "VariantChange",
    "VariantPlan",
    "Verdict",
    "capture_name",
    "check_identities",
    "check_written",
    "compose_ab_test",
    "epoch_name",
    "expected_boots",
    "facts_of",
    "flame_graph_names",
    "image_names",
    "left_out",
    "markdown",
    "more_images",
    "next_block",
    "no_op",
    "of_newest_epoch",
    "outcome",
    "outcome_of",
    "parts",
    "published_series",
    "recorded_boots",
    "result_files",
    "same_as",
    "set_ups",
    "text",
    "title_of",
    "why_one_image",
]
