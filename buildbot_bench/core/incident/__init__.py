"""Incidents of a branch: breakages, steps that several series share, and their ends."""

from buildbot_bench.core.incident.breakage import bracket, broken_tip, mended, plan_breakage
from buildbot_bench.core.incident.confirmation import (
    Confirmation,
    Standing,
    Wanted,
    WantedBoots,
    confirmation,
    leaves_a_rest,
)
from buildbot_bench.core.incident.model import (
    Breakage,
    BreakageEvidence,
    BreakagePolicy,
    BrokenTip,
    Cause,
    Ending,
    Mended,
    Trial,
    TrialOutcome,
)
from buildbot_bench.core.incident.relation import (
    AlarmedSeries,
    LevelReturn,
    bits_per_boot,
    bits_to_find,
    information_per_second,
    is_worse,
    is_worth_moving,
    may_share_a_change,
    returned_level,
)

__all__ = [
    "AlarmedSeries",
    "Breakage",
    "BreakageEvidence",
    "BreakagePolicy",
    "BrokenTip",
    "Cause",
    "Confirmation",
    "Ending",
    "LevelReturn",
    "Mended",
    "Standing",
    "Trial",
    "TrialOutcome",
    "Wanted",
    "WantedBoots",
    "bits_per_boot",
    "bits_to_find",
    "bracket",
    "broken_tip",
    "confirmation",
    "information_per_second",
    "is_worse",
    "is_worth_moving",
    "leaves_a_rest",
    "may_share_a_change",
    "mended",
    "plan_breakage",
    "returned_level",
]
