"""The model of a finished search's report, from which mail, page and JSON are rendered."""

from buildbot_bench.core.report.changed_files import ChangedFile, Line
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import (
    Context,
    ControlRecord,
    ImageRecord,
    SearchStage,
    SeriesSamples,
)
from buildbot_bench.core.report.cost_table import FunctionCost, PerPacket, Sum
from buildbot_bench.core.report.evidence_model import (
    BootedImage,
    Candidate,
    Check,
    Cost,
    Fact,
    ImageValues,
    Level,
    Outcome,
    Reach,
    ScopeRow,
)
from buildbot_bench.core.report.model import (
    AddedSection,
    AppliedFix,
    Contrast,
    ProbeRecord,
    Report,
    ReportKind,
    Setting,
    Side,
    Skipped,
    StepReport,
    Unresolved,
)
from buildbot_bench.core.report.one_layout import NOT_HEEDED, one_layout
from buildbot_bench.core.report.opinions import Opinion, OpinionKind, TrackRecord
from buildbot_bench.core.report.predecessor import (
    CommitContrast,
    against_predecessor,
    newest_measured,
)
from buildbot_bench.core.report.stages import replay_stages, runners_up
from buildbot_bench.core.report.steps import kind_of
from buildbot_bench.core.report.why import Capture, Captures, Sampled, Symbol, Why

__all__ = [
    "NOT_HEEDED",
    "AddedSection",
    "AppliedFix",
    "BootedImage",
    "Candidate",
    "Capture",
    "Captures",
    "ChangedFile",
    "Check",
    "CommitContrast",
    "Context",
    "Contrast",
    "ControlRecord",
    "Cost",
    "Fact",
    "FunctionCost",
    "ImageRecord",
    "ImageValues",
    "Level",
    "Line",
    "Opinion",
    "OpinionKind",
    "Outcome",
    "PerPacket",
    "ProbeRecord",
    "Reach",
    "Report",
    "ReportKind",
    "Sampled",
    "ScopeRow",
    "SearchStage",
    "SeriesSamples",
    "Setting",
    "Side",
    "Skipped",
    "StepReport",
    "Sum",
    "Symbol",
    "TrackRecord",
    "Unresolved",
    "Why",
    "against_predecessor",
    "compose",
    "kind_of",
    "newest_measured",
    "one_layout",
    "replay_stages",
    "runners_up",
]
