"""The series of an incident, as REST shows them."""

from __future__ import annotations

from typing import Any

from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.incident_rows import IncidentSeriesRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.incidents import alarmed_by, others_of, step_within

Json = dict[str, Any]


async def incident_json(farm: Farm, search: SearchRow) -> list[Json]:
    """The series of an incident as the REST interface shows them; empty when it has but one."""
    members = await others_of(farm, search)
    if not members:
        return []
    boots = await _boots(farm, search)
    found = step_within(search, alarmed_by(search))
    own = {
        "testbed": search.testbed,
        "workload": search.workload,
        "searched": True,
        "standing": "found" if found else str(search.state),
        "effect": found.effect if found else search.claimed,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "boots": boots.get((search.testbed, search.workload), 0),
        "reason": "",
        "judgementid": None,
        "searchid": search.id,
    }
    return [own, *(_member_json(member, boots) for member in members)]


def _member_json(member: IncidentSeriesRow, boots: dict[tuple[str, str], int]) -> Json:
    return {
        "testbed": member.testbed,
        "workload": member.workload,
        "searched": False,
        "standing": str(member.standing),
        "effect": member.claimed if member.effect is None else member.effect,
        "low": member.low,
        "high": member.high,
        "boots": boots.get((member.testbed, member.workload), 0),
        "reason": member.reason,
        "judgementid": member.judgement_id,
        "searchid": member.own_search_id,
    }


async def _boots(farm: Farm, search: SearchRow) -> dict[tuple[str, str], int]:
    """How many iterations of each series of an incident gave a value."""
    counts: dict[tuple[str, str], int] = {}
    for probe in await farm.store.probes_of_search(search.id):
        series = (probe.testbed, probe.workload)
        rows = await farm.store.iterations_of_probe(probe.id)
        good = sum(row.is_primary and row.value is not None for row in rows)
        counts[series] = counts.get(series, 0) + good
    return counts
