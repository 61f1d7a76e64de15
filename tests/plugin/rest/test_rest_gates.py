"""What the lab page says of commits that stand before a gate."""

import pytest

from buildbot_bench.plugin.rest import views as page
from buildbot_bench.plugin.rest.views import gates
from tests.fakes.gated import GATED, count, known

pytestmark = pytest.mark.both_databases


@pytest.fixture
def farm(make_farm):
    return make_farm(*GATED)


async def shown(farm):
    (series,) = await gates(farm)
    assert (series["testbed"], series["workload"], series["gates"]) == (
        "apu",
        "forwarding",
        ["xeon"],
    )
    return [(commit["label"], commit["why"]) for commit in series["held"]]


async def test_each_commit_before_a_gate_is_told_with_its_reason(farm, past):
    await known(past, 2, 3, 4)
    await count(past, 2, 1000.0)
    await count(past, 3, 1002.0)
    assert await shown(farm) == [
        ("r4", "waits for the exact metric on xeon"),
        ("r2", "the exact metric on xeon did not move"),
    ]  # r3 is let through


async def test_what_is_measured_waits_no_more(farm, past):
    await known(past, 2, 3, 4)
    for position in (2, 3, 4):
        await past.probe(position, state="issued")
    assert await shown(farm) == []


async def test_a_gate_in_quarantine_has_nobody_waiting(farm, past):
    await known(past, 2, 3, 4)
    assert len(await shown(farm)) == 3
    await past.quarantine(1, testbed="xeon", reason="it counts otherwise")
    assert await shown(farm) == []


async def test_of_many_the_newest_are_listed_and_the_others_counted(farm, past, monkeypatch):
    monkeypatch.setattr(page, "HELD_LISTED", 2)
    await known(past, 2, 3, 4)
    (series,) = await gates(farm)
    assert [commit["label"] for commit in series["held"]] == ["r4", "r3"]
    assert series["more"] == 1


async def test_a_farm_without_gates_has_nothing_to_say(make_farm):
    assert await gates(make_farm()) == []
