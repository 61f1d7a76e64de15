"""What a mail, a page and a JSON file say of a finished search; it renders and sends nothing."""

from buildbot_bench.core.report.checks import PROOF_ITERATIONS, proof_iterations
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.meeting import Line, Place
from buildbot_bench.core.report.model import (
    Carried,
    Contrast,
    Kind,
    ProbeRecord,
    Report,
    Setting,
    Side,
    Skipped,
    StepReport,
    Unresolved,
)
from buildbot_bench.core.report.narrowing import narrowing, runners_up
from buildbot_bench.core.report.per_packet import FunctionCost, PerPacket, Sum
from buildbot_bench.core.report.standing import Opinion, OpinionKind, TrackRecord
from buildbot_bench.core.report.steps import kind_of
from buildbot_bench.core.report.support import (
    Artefact,
    Candidate,
    Check,
    Cost,
    Fact,
    Level,
    Measured,
    Outcome,
    Reach,
    ScopeRow,
)
from buildbot_bench.core.report.surroundings import (
    ControlRecord,
    ImageRecord,
    LaneSamples,
    Stage,
    Surroundings,
)
from buildbot_bench.core.report.why import Capture, Captures, Sampled, Symbol, Why

__all__ = [
    "PROOF_ITERATIONS",
    "Artefact",
    "Candidate",
    "Capture",
    "Captures",
    "Carried",
    "Check",
    "Contrast",
    "ControlRecord",
    "Cost",
    "Fact",
    "FunctionCost",
    "ImageRecord",
    "Kind",
    "LaneSamples",
    "Level",
    "Line",
    "Measured",
    "Opinion",
    "OpinionKind",
    "Outcome",
    "PerPacket",
    "Place",
    "ProbeRecord",
    "Reach",
    "Report",
    "Sampled",
    "ScopeRow",
    "Setting",
    "Side",
    "Skipped",
    "Stage",
    "StepReport",
    "Sum",
    "Surroundings",
    "Symbol",
    "TrackRecord",
    "Unresolved",
    "Why",
    "compose",
    "kind_of",
    "narrowing",
    "proof_iterations",
    "runners_up",
]
