"""How an alarm becomes a search, unless one that is known already explains it."""

from __future__ import annotations

from buildbot_bench.core.judge import Alarm
from buildbot_bench.plugin.db.finding_rows import ComparisonRow, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import SearchReason, SearchState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import lane_of, roomiest

GIVEN_UP = frozenset({SearchState.CANCELLING, SearchState.CANCELLED, SearchState.FAILED})


async def search_for(
    farm: Farm, alarm: Alarm, comparison: ComparisonRow, unit: str
) -> ComparisonRow | None:
    """Start the search for what an alarm saw, or link the alarm to the search that saw it too.

    Gives the linked row; None when the anchor is unknown, or another master was quicker.
    """
    anchor = await farm.store.image_at(farm.branch, alarm.anchor)
    if anchor is None:
        return None
    lane = lane_of(farm, comparison.testbed, comparison.workload)
    known = [
        search
        for testbed in dict.fromkeys((comparison.testbed, *lane.pool))
        for search in await farm.store.searches_over(
            testbed=testbed,
            workload=comparison.workload,
            old_position=alarm.anchor,
            new_position=comparison.new_position,
        )
        if explains(search, alarm.anchor, comparison.new_position)
    ]
    search = known[0] if known else await _start(farm, alarm, comparison, anchor, unit)
    return await farm.store.change_comparison(comparison, now=farm.now(), search_id=search.id)


async def _start(
    farm: Farm, alarm: Alarm, comparison: ComparisonRow, anchor: ImageRow, unit: str
) -> SearchRow:
    testbed = await roomiest(farm, lane_of(farm, comparison.testbed, comparison.workload))
    key = f"alarm:{comparison.id}"
    earlier = await farm.store.search_by_key(key)
    if earlier is not None and earlier.state in GIVEN_UP:
        key += f"@{comparison.rounds}"  # judged anew, and a master that dies here finds it again
    return await farm.store.add_search(
        key=key,
        branch=farm.branch,
        testbed=testbed,
        workload=comparison.workload,
        unit=unit,
        old_sha=anchor.sha,
        old_position=anchor.position,
        new_sha=comparison.new_sha,
        new_position=comparison.new_position,
        claimed=alarm.effect,
        min_effect=farm.workflow.min_effect_on(testbed),
        error=farm.workflow.regression.error,
        reason=SearchReason.ALARM,
        requester="",
        now=farm.now(),
    )


def explains(search: SearchRow, old_position: int, new_position: int) -> bool:
    """Whether a search is about the change that lies in (old_position, new_position]."""
    if search.state in GIVEN_UP:
        return False
    if search.ended_at is None:
        return search.old_position < new_position and old_position < search.new_position
    answer = search.answer or {}
    return any(
        old_position < search.old_position + step["new"] <= new_position
        for step in answer.get("steps", ())
    )
