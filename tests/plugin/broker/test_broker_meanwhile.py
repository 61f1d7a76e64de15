"""While a search waits for a kernel: what builders make ahead, and what the lab boots meanwhile."""

import pytest

from buildbot_bench.plugin.broker.collect import Collector
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.db.columns import Priority
from tests.fakes.past import boots
from tests.plugin.farm.test_series import TWINS

SLOW_FROM = 7
BOOT_AND_RUN_S = 90.0  # of the testbed apu
BUILD_S = 900.0  # evidence.ASSUMED_BUILD_S


def level(position: int) -> float:
    return 1e6 if position < SLOW_FROM else 0.8e6


@pytest.fixture
def searching(farm) -> Searching:
    return Searching(farm)


async def search_that_waits_for_a_kernel(past, searching, farm, master, **columns):
    """Both ends are measured, their kernels are there, and the next one is being built."""
    for end in (1, 11):
        await past.measured(end, boots(level(end), 1, series=end))
    search = await past.search(**columns)
    await searching.advance()
    (probe,) = await farm.store.probes_of_search(search.id)
    assert (await farm.store.image(probe.image_id)).state == "wanted"
    await Issuer(farm, master).issue()
    return search, probe


async def asked_besides(farm, search, probe) -> list[tuple[str, int]]:
    """What a search asked for besides one probe."""
    probes = [one for one in await farm.store.probes_of_search(search.id) if one.id != probe.id]
    return [((await farm.store.image(one.image_id)).label, one.priority) for one in probes]


async def test_a_builder_that_is_busy_is_asked_for_nothing_ahead(searching, past, farm):
    await past.search()
    await searching.advance()
    assert len(await farm.store.images(state="wanted")) == 1


async def test_a_builder_that_idles_makes_ahead_what_will_be_wanted(searching, past, farm):
    await past.search()
    await searching.advance()
    (wanted,) = await farm.store.images(state="wanted")
    await past.image(wanted.position)
    for _ in range(2):
        await searching.advance()
    assert len(await farm.store.images(state="wanted")) == 1


async def test_each_of_several_builders_has_something_to_make(make_farm, past):
    farm = make_farm(("runs-on: builder", "runs-on: [b1, b2, b3]"))
    await past.search()
    searching = Searching(farm)
    for _ in range(2):
        await searching.advance()
    assert len(await farm.store.images(state="wanted")) == 3


async def test_what_is_built_ahead_gives_way_to_what_is_waited_for(searching, past, farm, master):
    ahead = await past.image(15, state="building", brid=77)
    await past.search()
    await searching.advance()
    assert (await farm.store.image(ahead.id)).state == "dropped"
    assert master.data.cancelled == [77]
    (wanted,) = await farm.store.images(state="wanted")
    assert wanted.position in {1, 11}


async def test_a_build_that_is_about_to_end_is_let_end(searching, past, farm, master):
    ahead = await past.image(15, state="building", brid=77)
    master.reactor.advance(BUILD_S - 20)
    await past.search()
    await searching.advance()
    assert (await farm.store.image(ahead.id)).state == "building"
    assert master.data.cancelled == []


async def test_what_somebody_waits_for_gives_way_to_nobody(searching, past, farm, master):
    awaited = await past.image(15, state="building", brid=77)
    await past.probe(awaited)
    await past.search()
    await searching.advance()
    assert (await farm.store.image(awaited.id)).state == "building"
    assert master.data.cancelled == []


async def test_a_kernel_that_gave_way_is_built_when_it_is_asked_for_again(
    searching, past, farm, master
):
    await past.image(1, state="wanted")
    await Issuer(farm, master).issue()
    (first,) = master.requests
    (image,) = await farm.store.images(state="building")
    await farm.store.change(image, changed_at=farm.now(), state="dropped", brid=None)
    master.complete(first.brid)
    await past.search()
    await searching.advance()
    for _ in range(2):
        await Collector(farm, master).collect()
        await Issuer(farm, master).issue()
    again = [request for request in master.requests if request.revision == image.sha]
    assert len(again) == 2
    assert (await farm.store.image(image.id)).state == "building"


async def test_a_testbed_boots_an_image_that_tells_something_while_the_next_is_built(
    searching, past, farm, master
):
    search, probe = await search_that_waits_for_a_kernel(past, searching, farm, master)
    await past.image(4)
    for _ in range(3):
        await searching.advance()
    ((label, priority),) = await asked_besides(farm, search, probe)
    assert label in {"r1", "r4", "r11"}
    assert priority == Priority.SPARE < Priority.COMMIT


async def test_a_testbed_that_has_something_to_boot_is_left_alone(searching, past, farm, master):
    search, probe = await search_that_waits_for_a_kernel(past, searching, farm, master)
    await past.probe(4, state="issued", brid=99)
    await searching.advance()
    assert await asked_besides(farm, search, probe) == []


async def test_a_testbed_beside_it_on_the_same_worker_keeps_a_testbed_busy(make_farm, past, master):
    farm = make_farm(("worker: lab2", "worker: lab"), ("runs-on: apu", "runs-on: [apu, xeon]"))
    searching = Searching(farm)
    search, probe = await search_that_waits_for_a_kernel(past, searching, farm, master)
    await past.probe(4, testbed="xeon", state="issued", brid=99)
    await searching.advance()
    assert await asked_besides(farm, search, probe) == []


async def test_no_boot_is_begun_that_would_keep_the_next_kernel_waiting(
    searching, past, farm, master
):
    search, probe = await search_that_waits_for_a_kernel(past, searching, farm, master)
    await past.image(4)
    master.reactor.advance(BUILD_S - BOOT_AND_RUN_S + 1)
    await searching.advance()
    assert await asked_besides(farm, search, probe) == []


async def test_an_answer_that_came_meanwhile_ends_the_wait(searching, past, farm, master):
    search, probe = await search_that_waits_for_a_kernel(past, searching, farm, master)
    awaited = (await farm.store.image(probe.image_id)).position
    assert awaited < 9
    for position in {*range(1, 12)} - {awaited}:
        value = 1e6 if position < 10 else 0.8e6
        await past.measured(position, boots(value, series=position + 20))
    await searching.advance()
    ended = await farm.store.search(search.id)
    assert ended.state == "found"
    assert [(step.old, step.new) for step in ended.steps] == [(8, 9)]
    assert (await farm.store.probe(probe.id)).state == "cancelled"


async def test_searches_of_one_label_use_its_testbeds_side_by_side(make_farm, past, master):
    farm = make_farm(*TWINS)
    searches = [await past.search(1, 11), await past.search(1, 11, testbed="xeon")]
    for position in range(1, 12):
        await past.image(position)
    await Searching(farm).advance()
    await Issuer(farm, master).issue()
    assert {request.builder for request in master.requests} == {"bench/apu", "bench/xeon"}
    probes = await farm.store.probes(state="issued")
    assert {probe.search_id for probe in probes} == {search.id for search in searches}
