"""Which commits are not measured because of a gate, and why; it lets none through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from buildbot_bench.core.gate import Ruling
from buildbot_bench.plugin.broker.gates import said_of
from buildbot_bench.plugin.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Lane, lanes

Json = dict[str, Any]

# What waits longer than these stands there as a number.
LISTED = 20


async def gates(farm: Farm) -> list[Json]:
    """For each series that has a gate what stands before it, the newest first."""
    guarded = [lane for lane in lanes(farm.workflow.bench_jobs) if lane.gates]
    return [await _guarded(farm, lane) for lane in guarded]


async def _guarded(farm: Farm, lane: Lane) -> Json:
    waiting = await farm.store.unmeasured(
        farm.branch, lane.testbed, lane.workload, limit=WINDOW_COMMITS
    )
    held = [
        {"label": commit.revision.label, "subject": commit.subject, "why": _why(said)}
        for commit, said in await said_of(farm, farm.branch, lane, waiting)
        if Ruling.OPEN not in said.values()
    ]
    return {
        "testbed": lane.testbed,
        "workload": lane.workload,
        "gates": list(lane.gates),
        "held": held[:LISTED],
        "more": max(len(held) - LISTED, 0),
    }


def _why(said: Mapping[str, Ruling]) -> str:
    """A gate that has not spoken may still open; when all have, a person or a search may ask."""
    waited_for = [testbed for testbed, ruling in said.items() if ruling is Ruling.WAIT]
    if waited_for:
        return f"waits for the exact metric on {' or '.join(waited_for)}"
    return f"the exact metric on {' and '.join(said)} did not move"
