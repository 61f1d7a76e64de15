"""Fair sharing of a testbed, and the clause that says why a request waits."""

from buildbot_bench.core.sharing.fair_queue import (
    Claim,
    ClaimKind,
    Demand,
    PersonPriority,
    Served,
    Turn,
    Weights,
    turns,
    waits_at_most_s,
)
from buildbot_bench.core.sharing.words import (
    WaitForBuild,
    WaitForDecision,
    WaitForTestbed,
    what_it_waits_for,
)

__all__ = [
    "Claim",
    "ClaimKind",
    "Demand",
    "PersonPriority",
    "Served",
    "Turn",
    "WaitForBuild",
    "WaitForDecision",
    "WaitForTestbed",
    "Weights",
    "turns",
    "waits_at_most_s",
    "what_it_waits_for",
]
