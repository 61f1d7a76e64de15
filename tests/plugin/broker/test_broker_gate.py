"""A testbed that needs a gate measures the commits whose exact figure moved, and no others."""

import pytest

from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from tests.fakes.gated import COUNTED, GATED, count, known


@pytest.fixture
def farm(make_farm):
    return make_farm(*GATED)


async def asked_of_hardware(farm) -> list[str]:
    await CommitQueue(farm).advance()
    probes = [one for one in await farm.store.probes(state="new") if one.testbed == "apu"]
    return [(await farm.store.image(one.image_id)).label for one in probes]


async def test_a_commit_whose_figure_did_not_move_is_not_booted_on_the_hardware(farm, past):
    await known(past, 2, 3)
    for position in (2, 3):
        await count(past, position, 1000.5)
    assert await asked_of_hardware(farm) == []


async def test_a_commit_whose_figure_moved_is(farm, past):
    await known(past, 2, 3)
    await count(past, 2, 1002.0)
    await count(past, 3, 1002.0)
    assert await asked_of_hardware(farm) == ["r3"]


async def test_before_its_figure_is_there_the_hardware_waits(farm, past):
    await known(past, 2, 3)
    assert await asked_of_hardware(farm) == []
    gate = [one for one in await farm.store.probes(state="new") if one.testbed == "xeon"]
    assert [(await farm.store.image(one.image_id)).label for one in gate] == ["r3"]


async def test_the_hardware_waits_until_all_boots_of_the_gate_are_there(farm, past):
    await known(past, 2, 3)
    probe = await past.probe(3, testbed="xeon", iterations=3, state="issued")
    await past.add(probe, 0, 1002.0, unit=COUNTED)
    assert await asked_of_hardware(farm) == []
    await farm.store.change(await farm.store.probe(probe.id), state="done")
    assert await asked_of_hardware(farm) == ["r3"]


async def test_meanwhile_an_older_one_that_moved_is_measured(farm, past):
    await known(past, 2, 3)
    await count(past, 2, 990.0)
    assert await asked_of_hardware(farm) == ["r2"]


@pytest.mark.parametrize(
    "ended",
    [
        {"state": "done", "failure": "panic", "failure_kind": "untestable"},
        {"state": "lost", "failure": "no KVM", "ended_at": 1e12},
    ],
    ids=["it does not boot there", "the gate is broken"],
)
async def test_a_figure_that_cannot_be_had_holds_nothing_back(farm, past, ended):
    await known(past, 2, 3)
    await past.probe(3, testbed="xeon", **ended)
    assert await asked_of_hardware(farm) == ["r3"]


async def test_a_gate_in_quarantine_holds_nothing_back(farm, past):
    await known(past, 2, 3)
    await past.quarantine(1, testbed="xeon", reason="it counts otherwise")
    assert await asked_of_hardware(farm) == ["r3"]


async def test_a_no_op_change_is_no_work_for_the_hardware(farm, past):
    await known(past, 2, 3)
    await count(past, 2, 1000.0)
    await past.probe(3, testbed="xeon", state="done", failure="no-op change: same kernel as r2")
    assert await asked_of_hardware(farm) == []


async def test_a_gate_that_is_not_exact_is_no_gate(farm, past):
    await past.commits(1)
    for testbed in ("xeon", "apu"):
        await past.measured(1, (1e6,) * 5, testbed=testbed)
    await past.commits(2)
    await past.measured(2, (1e6,) * 5, testbed="xeon")
    assert await asked_of_hardware(farm) == ["r2"]


async def test_the_first_commit_of_a_farm_is_measured_everywhere(farm, past):
    await past.commits(1)
    assert await asked_of_hardware(farm) == ["r1"]
    assert {one.testbed for one in await farm.store.probes()} == {"apu", "xeon"}
