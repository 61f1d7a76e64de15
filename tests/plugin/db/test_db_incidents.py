"""The series of an incident join once, and only one master says what became of each."""

import pytest

from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.plugin.db.finding_rows import NewIncidentSeries
from tests.fakes.database import sha


@pytest.fixture
def joining(store):
    async def make(search, workload: str = "pf", **columns):
        values = {
            "search_id": search.id, "testbed": "apu", "workload": workload, "unit": "pps",
            "old_sha": sha(10), "old_position": 10, "new_sha": sha(20), "new_position": 20,
            "claimed": -0.1,
        }  # fmt: skip
        return await store.join_incident(NewIncidentSeries(**values | columns), now=3.0)

    return make


async def test_a_series_joins_an_incident_once(store, a_search, joining):
    search = await a_search()
    first = await joining(search)
    assert await joining(search, claimed=-0.3) == first
    assert (first.standing, first.claimed, first.ended_at) == (Standing.WAITING, -0.1, None)
    other = await joining(search, workload="ipfw")
    assert await store.series_of_incident(search.id) == [first, other]
    assert await store.series_of_incident(search.id + 1) == []


async def test_only_one_master_says_what_became_of_a_series(store, a_search, joining):
    member = await joining(await a_search())
    assert await store.waiting_series() == [member]
    verdict = {"standing": Standing.CONFIRMED, "effect": -0.1, "ended_at": 9.0}
    changed = await store.change(member, **verdict)
    assert (changed.standing, changed.effect) == (Standing.CONFIRMED, -0.1)
    assert await store.change(member, standing=Standing.DENIED) is None
    assert await store.waiting_series() == []
    assert await store.confirmed_incidents("apu", "pf") == [changed]
    assert await store.confirmed_incidents("apu", "forwarding") == []


async def test_incidents_over_a_range_are_searches_of_alarms_that_share_a_suspect(store, a_search):
    search = await a_search(reason="alarm")
    await a_search(key="by hand", reason="person")
    assert await store.incidents_over("main", 19, 25) == [search]
    assert await store.incidents_over("main", 20, 25) == []
    assert await store.incidents_over("stable/14", 19, 25) == []
