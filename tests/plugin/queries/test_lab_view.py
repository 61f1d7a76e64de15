"""What the lab page tells of testbeds, workers and queues."""

import pytest

from buildbot_bench.plugin.queries.overview import lab
from tests.fakes.master import Request

pytestmark = pytest.mark.both_databases


@pytest.fixture
def apu(farm):
    """The testbed `apu` as it is shown now."""

    async def show():
        return next(one for one in (await lab(farm))["testbeds"] if one["testbed"] == "apu")

    return show


async def test_every_testbed_and_builder_is_shown_idle_or_not(farm):
    shown = await lab(farm)
    assert [one["testbed"] for one in shown["testbeds"]] == ["apu", "xeon"]
    assert [builder["name"] for builder in shown["builders"]] == ["builder"]
    assert (shown["farm"], shown["branch"], shown["images"]) == ("Tests", "main", [])


async def test_a_worker_is_there_or_not(apu, master):
    assert not (await apu())["worker"]["connected"]
    master.data.workers["lab"] = {"workerid": 4, "connected_to": [{"masterid": 1}], "paused": True}
    worker = (await apu())["worker"]
    assert worker == {"name": "lab", "workerid": 4, "connected": True, "paused": True}


async def test_who_measures_is_first_and_the_others_wait_by_priority(apu, past, master):
    await past.probe(1, priority=10)
    await past.probe(2, priority=20)
    running = await past.probe(3, priority=0, state="issued", brid=500)
    request = Request(
        brid=500,
        name="",
        builder="bench/apu",
        revision="",
        reason="",
        priority=0,
        properties={},
        claimed_by=1,
    )
    master.requests.append(request)
    await past.add(running, 0, 1e6)
    queue = (await apu())["queue"]
    assert [(entry["label"], entry["doing"]) for entry in queue] == [
        ("r3", "measuring"),
        ("r2", "waiting"),
        ("r1", "waiting"),
    ]
    assert queue[0]["done"] == 1


async def test_how_long_each_waits_is_what_stands_before_it(apu, past):
    await past.probe(1, iterations=2, priority=20)
    await past.probe(2, iterations=3)
    assert [entry["starts_in_s"] for entry in (await apu())["queue"]] == [0, 2 * (60 + 30)]


async def test_a_probe_without_its_kernel_says_so(apu, past, farm):
    await past.probe(await past.image(3, state="building"))
    await past.image(4, state="wanted")
    assert [entry["doing"] for entry in (await apu())["queue"]] == ["waiting for its kernel"]
    images = (await lab(farm))["images"]
    assert [(i["label"], i["state"]) for i in images] == [("r3", "building"), ("r4", "wanted")]


async def test_other_testbeds_queues_are_their_own(apu, past):
    await past.probe(1, testbed="xeon")
    assert (await apu())["queue"] == []


async def test_how_well_a_testbed_is_shows_in_its_newest_iterations(apu, past, farm):
    probe = await past.measured(1, (1e6, 1e6))
    await past.add(probe, 2, None)
    shown = await apu()
    assert (shown["recent"], shown["failed"]) == (3, 1)
    assert (shown["last_failure"], shown["last_at"]) == ("no traffic", farm.now())
