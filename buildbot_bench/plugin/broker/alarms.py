"""The search for an alarm: a known one, one of a related series that it joins, or a new one.

Alarms of related series are one incident with one search, on the series that gives most information
per second of the lab. A search that has hardly begun moves to a later, better series.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from buildbot_bench.api.states import SearchState
from buildbot_bench.core.branches import repository_of
from buildbot_bench.core.incident import AlarmedSeries, is_worth_moving
from buildbot_bench.plugin.broker.ask import cancel_probes
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.incident_rows import NewIncidentSeries, RaisedAlarm
from buildbot_bench.plugin.db.states import SearchReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import least_loaded, series_at, testbed_of
from buildbot_bench.plugin.queries.incidents import (
    GIVEN_UP,
    alarmed_by,
    explains,
    incident_of,
    is_of,
    score_of,
)
from buildbot_bench.plugin.queries.judgements import said_noise


async def search_of(
    farm: Farm,
    alarm: RaisedAlarm,
    *,
    key: str,
    branch: str,
    again: str = "",
    but: Iterable[int] = (),
) -> SearchRow:
    """The search that is to explain an alarm on a branch.

    `key` names what asks, so that it starts one search; one with that key that was given up is
    begun again under `key@again`. None of those in `but` explains it, nor does one that was noise.
    """
    but = {*but, *await said_noise(farm)}
    known = await _of_same_series(farm, alarm, branch, but)
    if known is not None:
        return known
    incident = await incident_of(farm, alarm.on(branch), but=but)
    if incident is not None:
        return await _join(farm, incident, alarm, branch)
    earlier = await farm.store.search_by_key(key)
    if earlier is not None and earlier.state in GIVEN_UP:
        key += f"@{again}"
    return await _start(farm, alarm, branch, key)


async def _of_same_series(
    farm: Farm, alarm: RaisedAlarm, branch: str, but: set[int]
) -> SearchRow | None:
    series = series_at(farm, alarm.testbed, alarm.workload)
    for testbed in dict.fromkeys((alarm.testbed, *series.pool)):
        for search in await farm.store.searches_over(
            testbed=testbed,
            workload=alarm.workload,
            old_position=alarm.old_position,
            new_position=alarm.new_position,
            repository=repository_of(branch),
        ):
            if search.id not in but and explains(search, alarm.on(branch)):
                return search
    return None


async def _start(farm: Farm, alarm: RaisedAlarm, branch: str, key: str) -> SearchRow:
    testbed = await least_loaded(farm, series_at(farm, alarm.testbed, alarm.workload))
    return await farm.store.add_search(
        NewSearch(
            key=key,
            branch=branch,
            testbed=testbed,
            workload=alarm.workload,
            unit=alarm.unit,
            higher_is_better=alarm.higher_is_better,
            old_sha=alarm.old_sha,
            old_position=alarm.old_position,
            new_sha=alarm.new_sha,
            new_position=alarm.new_position,
            claimed=alarm.claimed,
            min_effect=farm.workflow.min_effect_on(testbed),
            error=farm.workflow.regression.error,
            reason=SearchReason.ALARM,
            requester="",
        ),
        now=farm.now(),
    )


async def _join(farm: Farm, search: SearchRow, alarm: RaisedAlarm, branch: str) -> SearchRow:
    """Let an alarm join the incident of a search, or the search move to its series."""
    members = await farm.store.series_of_incident(search.id)
    is_known = any(is_of(member, alarm.testbed, alarm.workload) for member in members)
    if not is_known and await _ends_sooner(farm, search, alarm.on(branch)):
        moved = await _move(farm, search, alarm)
        if moved is not None:
            return moved
    joining = NewIncidentSeries(search_id=search.id, **asdict(alarm))
    await farm.store.join_incident(joining, now=farm.now())
    return search


async def _ends_sooner(farm: Farm, search: SearchRow, alarm: AlarmedSeries) -> bool:
    if search.state is not SearchState.RUNNING:
        return False
    declared = testbed_of(farm, search.testbed)
    iterations, _ = await farm.store.progress(search.id)
    return is_worth_moving(
        here=await score_of(farm, alarmed_by(search)),
        there=await score_of(farm, alarm),
        spent_s=iterations * (declared.boot_s + declared.run_s),
        commits=alarm.new - alarm.old,
    )


async def _move(farm: Farm, search: SearchRow, alarm: RaisedAlarm) -> SearchRow | None:
    """Have the search go on where the alarm was raised; None when another was quicker.

    The series that it leaves joins first: a master that dies between has lost none.
    """
    left = NewIncidentSeries(
        search_id=search.id,
        testbed=search.testbed,
        workload=search.workload,
        unit=search.unit,
        higher_is_better=search.higher_is_better,
        old_sha=search.old_sha,
        old_position=search.old_position,
        new_sha=search.new_sha,
        new_position=search.new_position,
        claimed=alarmed_by(search).effect,
        judgement_id=await farm.store.judgement_of_search(
            search.id, search.testbed, search.workload
        ),
    )
    await farm.store.join_incident(left, now=farm.now())
    moved = await farm.store.change(
        search,
        testbed=alarm.testbed,
        workload=alarm.workload,
        unit=alarm.unit,
        higher_is_better=alarm.higher_is_better,
        old_sha=alarm.old_sha,
        old_position=alarm.old_position,
        new_sha=alarm.new_sha,
        new_position=alarm.new_position,
        claimed=alarm.claimed,
        min_effect=farm.workflow.min_effect_on(alarm.testbed),
        forecast=None,
    )
    if moved is not None:
        probes = await farm.store.probes_of_search(search.id)
        where = f"search {search.id} goes on with {alarm.workload} on {alarm.testbed}"
        await cancel_probes(farm, probes, where)
    return moved
