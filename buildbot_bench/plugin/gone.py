"""What bench.yml no longer has of what the tables name: testbeds, and workloads on them.

The tables outlive every bench.yml, so whoever reads a testbed's or a workload's name from them
looks it up here, and not in the workflow's own mappings. It ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from buildbot_bench.plugin.farm import Farm
from buildbot_bench.workflow import DeclaredTestbed


def gone(farm: Farm, testbed: str, workload: str) -> str:
    """Why a workload cannot be measured on a testbed any more, as a clause; empty when it can."""
    if testbed not in farm.workflow.testbeds:
        return f"testbed {testbed} is no longer in bench.yml"
    if workload not in farm.workflow.workloads_on(testbed):
        return f"testbed {testbed} no longer measures {workload}: no job of bench.yml has it do so"
    return ""


def reasons_gone(farm: Farm, lanes: Iterable[Sequence[str]]) -> list[str]:
    """Of each testbed and workload why it cannot be measured any more; empty where it can."""
    return [gone(farm, testbed, workload) for testbed, workload in lanes]


def in_one_line(reasons: Iterable[str]) -> str:
    """Reasons as a page shows them, each once; empty when there are none."""
    return "; ".join(dict.fromkeys(filter(None, reasons)))


def captures_gone(farm: Farm, testbed: str, workload: str) -> str:
    """Why no capture of a workload can be taken on a testbed any more; empty when it can."""
    why = gone(farm, testbed, workload)
    if why or bed_of(farm, testbed).profile_s is not None:
        return why
    return f"testbed {testbed} no longer takes captures: it has no `profile` in bench.yml"


async def gone_lanes(farm: Farm) -> list[tuple[str, str]]:
    """The testbeds and workloads that were measured and cannot be any more."""
    return [lane for lane in await farm.store.measured_lanes() if gone(farm, *lane)]


def bed_of(farm: Farm, testbed: str) -> DeclaredTestbed:
    """What bench.yml says of a testbed; of one that it no longer has, what it says of any."""
    return farm.workflow.testbeds.get(testbed, DeclaredTestbed())
