"""On which of several testbeds of one kind a search runs; it mixes no samples of two of them.

A search stands on one machine from its first boot to its last: what two machines of one kind
measure differs by more than what a search looks for, and by how much is not known beforehand.
"""

from __future__ import annotations

from collections import Counter

from buildbot_bench.plugin.db.states import SearchState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.lanes import Lane, lanes


def lane_of(farm: Farm, testbed: str, workload: str) -> Lane:
    """The lane whose home or pool a testbed is; one of its own when bench.yml forgot it."""
    known = [lane for lane in lanes(farm.workflow.bench_jobs) if lane.workload == workload]
    at_home = [lane for lane in known if lane.testbed == testbed]
    around = [lane for lane in known if testbed in lane.pool]
    alone = Lane(testbed=testbed, workload=workload, iterations=None, pool=(testbed,))
    return next(iter((*at_home, *around)), alone)


async def roomiest(farm: Farm, lane: Lane) -> str:
    """The testbed of a lane's pool with the fewest searches; its home, which has a history, first.

    One in quarantine comes last: nothing would be measured there until it is well again.
    """
    ill = {one.testbed for one in await farm.store.quarantines(open_only=True)}
    running = await farm.store.searches(states=(SearchState.RUNNING, SearchState.CANCELLING))
    load = Counter(search.testbed for search in running)
    return min((lane.testbed, *lane.pool), key=lambda bed: (bed in ill, load[bed]))
