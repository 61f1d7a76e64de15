"""One row for each incident, whatever number of searches it has, and one mark for them all."""

from dataclasses import replace

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.incident.model import Breakage, Ending
from buildbot_bench.core.search import Answer, Slope, SlopePart, Step
from buildbot_bench.plugin.db.finding_rows import Recovery
from buildbot_bench.plugin.queries.incident_groups import incident, incidents
from buildbot_bench.plugin.queries.overview import LISTED, overview
from buildbot_bench.plugin.requests.marks import MarkRequests
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


def at(step: int, **fields) -> Answer:
    moved = replace(DROP, old=step - 1, new=step, **fields)
    return replace(ANSWER, steps=(moved,))


async def four_searches(past):
    """r7 was found by four searches over three ranges, on two workloads."""
    await past.commits(*range(1, 20))
    await past.image(7)
    return [
        await past.answered(ANSWER),
        await past.answered(ANSWER, workload="pf"),
        await past.answered(at(4), old=3, new=12),
        await past.answered(at(2), old=5, new=12, workload="pf"),
    ]


def recovery(past) -> Recovery:
    names = {"old_sha": past.shas[11], "old_label": "r11", "old_position": 11}
    names |= {"new_sha": past.shas[12], "new_label": "r12", "new_position": 12}
    return Recovery(**names, at_s=past.farm.now())


async def test_four_searches_of_one_culprit_are_one_row(past, farm):
    searches = await four_searches(past)
    (row,) = (await overview(farm))["incidents"]
    assert row["incidentid"] == searches[0].id
    assert sorted(row["searches"]) == [one.id for one in searches]
    assert (row["culprit"]["label"], row["commits"], row["open"]) == ("r7", 1, True)
    assert [(one["workload"], one["effect"]) for one in row["series"]] == [
        ("pf", -0.2),
        ("forwarding", -0.2),
    ]
    assert await incidents(farm, 10) == [row]


async def test_a_series_that_joined_the_incident_stands_in_its_row(past, farm):
    search = (await four_searches(past))[0]
    joined = await past.joined(search.id, "ipfw")
    await farm.store.change(joined, standing=Standing.CONFIRMED, effect=-0.4)
    await past.joined(search.id, "denied", own_search_id=search.id)
    (row,) = (await overview(farm))["incidents"]
    assert [one["workload"] for one in row["series"]] == ["pf", "forwarding", "ipfw"]
    assert row["series"][-1]["effect"] == -0.4


async def test_another_culprit_an_improvement_and_a_breakage_are_rows_of_their_own(past, farm):
    await four_searches(past)
    await past.answered(at(7))
    await past.answered(at(9, effect=0.3, low=0.2, high=0.4))
    part = SlopePart(old=2, new=5, effect=-0.03, low=-0.04, high=-0.02)
    sloping = replace(ANSWER, steps=(), slopes=(Slope(whole=part, parts=(part,)),))
    await past.answered(sloping, "slope")
    search = await past.search(kind="boot")
    broken = Breakage(ending=Ending.BROKEN, old=5, new=6, reason="it hangs")
    await farm.store.change(search, state="found", breakage=broken, ended_at=farm.now())
    rows = await incidents(farm, 50)
    assert [(row["kind"], row["culprit"]["label"], row["worse"]) for row in rows] == [
        ("boot", "r7", True),
        ("slope", "#6", True),
        ("effect", "#10", False),
        ("effect", "#8", True),
        ("effect", "r7", True),
    ]
    shown = await overview(farm)
    assert [row["kind"] for row in shown["incidents"]] == ["boot", "slope", "effect", "effect"]
    assert shown["open"] == 4


async def test_one_mark_marks_all_searches_of_an_incident(past, farm):
    searches = await four_searches(past)
    other = await past.answered(at(7))
    marked = await MarkRequests(farm).mark_incident(
        searches[2].id, "noise", author="ann", fixed_by=""
    )
    assert marked["searches"] == [one.id for one in searches]
    for search in searches:
        (mark,) = await farm.store.marks_of_search(search.id)
        assert (mark.kind, mark.author, mark.pending) == ("noise", "ann", True)
    assert await farm.store.marks_of_search(other.id) == []
    row = await incident(farm, searches[3].id)
    assert (row["open"], row["unmarked"], row["mark"]["kind"]) == (False, 0, "noise")
    assert [one["incidentid"] for one in (await overview(farm))["incidents"]] == [other.id]


async def test_a_search_that_finds_it_after_the_mark_opens_the_incident_again(past, farm):
    searches = await four_searches(past)
    await MarkRequests(farm).mark_incident(searches[0].id, "expected", author="ann", fixed_by="")
    await past.answered(ANSWER, workload="ipfw")
    (row,) = (await overview(farm))["incidents"]
    assert (row["unmarked"], row["mark"]["kind"]) == (1, "expected")


@pytest.mark.parametrize(
    ("kind", "fixed_by", "complaint"),
    [
        ("nonsense", "", "is no mark"),
        ("fixed", "", "takes the revision"),
        ("fixed", "r6", "older than the change"),
    ],
)
async def test_a_mark_that_does_not_fit_marks_none_of_them(past, farm, kind, fixed_by, complaint):
    searches = await four_searches(past)
    with pytest.raises(UsageError, match=complaint):
        await MarkRequests(farm).mark_incident(
            searches[0].id, kind, author="ann", fixed_by=fixed_by
        )
    assert await farm.store.last_marks([one.id for one in searches]) == {}


async def test_a_search_that_found_nothing_has_no_incident_to_mark(past, farm):
    await past.commits(*range(1, 20))
    search = await past.answered(replace(ANSWER, steps=()), "not-reproduced")
    for number in (search.id, 999):
        assert await incident(farm, number) is None
        with pytest.raises(UsageError, match="found no incident"):
            await MarkRequests(farm).mark_incident(number, "noise", author="", fixed_by="")


async def test_an_incident_is_over_when_each_series_is_well_again(past, farm):
    searches = await four_searches(past)
    for search in searches[:3]:
        await farm.store.change(search, recovery=recovery(past))
    (row,) = (await overview(farm))["incidents"]
    assert row["recovery"] is None
    await farm.store.change(searches[3], recovery=recovery(past))
    shown = await overview(farm)
    assert (shown["incidents"], shown["open"]) == ([], 0)
    (row,) = await incidents(farm, 10)
    assert (row["open"], row["recovery"]["new"]["label"]) == (False, "r12")


async def test_the_overview_is_bounded_and_says_how_many_there_are(past, farm):
    await past.commits(*range(1, 20))
    places = [(old, new) for old in range(9) for new in range(old + 1, 10)]
    for old, new in places[: LISTED + 5]:
        await past.answered(replace(ANSWER, steps=(replace(DROP, old=old, new=new),)))
        await past.search()
    shown = await overview(farm)
    assert (len(shown["incidents"]), shown["open"]) == (LISTED, LISTED + 5)
    assert (len(shown["searches"]), shown["running"]) == (LISTED, LISTED + 5)


async def test_what_was_measured_last_comes_first_with_the_values_of_its_boots(past, farm):
    await past.commits(*range(1, 9))
    await past.measured(3, boots(1e6))
    await past.measured(4, (8e5, 8.1e5))
    shown = await overview(farm)
    assert [one["label"] for one in shown["measured"]] == ["r4", "r3"]
    assert shown["measured"][0]["values"] == [8e5, 8.1e5]
    (health,) = [one for one in shown["testbeds"] if one["testbed"] == "apu"]
    assert (health["recent"], health["failed"], health["quarantine"]) == (7, 0, None)
