"""What becomes of requests that ended: what got lost is asked for again, but not for ever."""

import pytest

from buildbot_bench.plugin.broker.collect import Collector
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.farm.farm import MAX_ATTEMPTS
from tests.fakes.master import FakeData


@pytest.fixture
def collect(farm, master):
    return Collector(farm, master).collect


@pytest.fixture
def issue(farm, master):
    return Issuer(farm, master).issue


async def test_what_is_still_running_is_left_alone(collect, issue, past, farm):
    probe = await past.probe(4)
    image = await past.image(5, state="wanted")
    await issue()
    await collect()
    assert (await farm.store.probe(probe.id)).state == "issued"
    assert (await farm.store.image(image.id)).state == "building"


async def test_a_build_that_got_lost_is_asked_for_again_until_it_is_given_up(
    collect, issue, past, farm, master
):
    image = await past.image(4, state="wanted")
    for attempt in range(MAX_ATTEMPTS):
        assert (await farm.store.image(image.id)).state == "wanted"
        await issue()
        assert len(master.requests) == attempt + 1
        master.complete(master.requests[-1].brid)
        await collect()
    assert (await farm.store.image(image.id)).state == "failed"
    await issue()
    assert len(master.requests) == MAX_ATTEMPTS


async def test_a_build_that_said_its_word_before_it_ended_is_believed(
    collect, issue, past, farm, master
):
    image = await past.image(4, state="wanted")
    await issue()
    asked = await farm.store.image(image.id)
    await farm.store.change(asked, changed_at=0.0, state="built", digest="d")
    master.complete(asked.brid)
    await collect()
    assert (await farm.store.image(image.id)).state == "built"


async def test_a_build_that_says_its_word_while_we_ask_about_it_is_believed(
    issue, past, farm, master
):
    class Talkative(FakeData):
        async def get(self, path, filters=()):
            known = await farm.store.image(image.id)
            await farm.store.change(known, changed_at=0.0, state="built", digest="d")
            return await super().get(path, filters)

    image = await past.image(4, state="wanted")
    await issue()
    master.complete(master.requests[0].brid)
    master.data = Talkative(master.requests)
    await Collector(farm, master).collect()
    assert (await farm.store.image(image.id)).state == "built"


async def test_probes_of_an_untestable_image_end_and_say_why(collect, past, farm):
    image = await past.image(4, state="untestable", reason="error: no such field")
    probe = await past.probe(image)
    await collect()
    ended = await farm.store.probe(probe.id)
    assert (ended.state, ended.failure) == ("done", "error: no such field")
    assert ended.failure_kind == "untestable"
    assert ended.ended_at == farm.now()


async def test_probes_of_an_image_that_the_builders_gave_up_are_lost_not_untestable(
    collect, past, farm
):
    image = await past.image(4, state="failed", reason="No space left on device")
    probe = await past.probe(image)
    await collect()
    ended = await farm.store.probe(probe.id)
    assert (ended.state, ended.failure) == ("lost", "No space left on device")
    assert ended.failure_kind == "infrastructure"


async def test_a_probe_that_buildbot_cancelled_goes_on_under_the_same_name_in_the_lab(
    collect, issue, past, farm, master
):
    probe = await past.probe(4)
    await issue()
    master.complete(master.requests[0].brid)
    await collect()
    await issue()
    again = await farm.store.probe(probe.id)
    assert (again.state, again.token) == ("issued", probe.token)
    assert again.brid == master.requests[1].brid != master.requests[0].brid


async def test_a_probe_whose_builds_never_end_well_is_lost_in_the_end(
    collect, issue, past, farm, master
):
    probe = await past.probe(4)
    for _ in range(MAX_ATTEMPTS):
        await issue()
        master.complete(master.requests[-1].brid)
        await collect()
    ended = await farm.store.probe(probe.id)
    assert ended.state == "lost"
    assert "again and again" in ended.failure
    assert len(master.requests) == MAX_ATTEMPTS


async def lose_builds(issue, collect, master, times: int) -> None:
    """So many builds end, each before its job does."""
    for _ in range(times):
        await issue()
        master.complete(master.requests[-1].brid)
        await collect()


async def test_each_iteration_that_came_makes_up_for_a_build_that_was_lost(
    collect, issue, past, farm, master
):
    probe = await past.probe(4, iterations=5)
    for ordinal in range(2):
        await lose_builds(issue, collect, master, 1)
        await past.add(probe, ordinal, 1e6)
    await lose_builds(issue, collect, master, MAX_ATTEMPTS - 1)
    (going_on,) = await farm.store.probes()
    assert (going_on.state, going_on.token) == ("new", probe.token)
    await lose_builds(issue, collect, master, 1)
    (lost,) = await farm.store.probes()
    assert (lost.state, lost.failure_kind) == ("lost", "infrastructure")


async def test_what_the_last_build_said_of_its_end_is_why_the_probe_is_lost(
    collect, issue, past, farm, master
):
    probe = await past.probe(4)
    await lose_builds(issue, collect, master, MAX_ATTEMPTS - 1)
    why = "bench-lab: there is no testbed 'apu'"
    await farm.store.change(await farm.store.probe(probe.id), failure=why)
    await lose_builds(issue, collect, master, 1)
    lost = await farm.store.probe(probe.id)
    assert (lost.state, lost.failure, lost.failure_kind) == ("lost", why, "infrastructure")


async def test_builds_that_were_lost_after_the_last_iteration_owe_nothing(
    collect, issue, past, farm, master
):
    probe = await past.probe(4, iterations=1)
    await past.add(probe, 0, 1e6)
    await lose_builds(issue, collect, master, MAX_ATTEMPTS + 1)
    (ended,) = await farm.store.probes()
    assert (ended.state, ended.failure) == ("done", None)


async def test_builds_that_were_lost_do_not_count_against_the_lab(
    collect, issue, past, farm, master
):
    probe = await past.probe(4, iterations=5)
    for ordinal in range(2):
        await past.add(probe, ordinal, 1e6)
    await lose_builds(issue, collect, master, MAX_ATTEMPTS)
    await issue()
    await fails(farm, master, probe, "the switch is dead")
    await collect()
    (anew,) = await farm.store.probes(state="new")
    assert (anew.iterations, anew.round, anew.serial) == (3, 1, probe.serial)


async def fails(farm, master, probe, why: str) -> None:
    """The lab's own trouble, as the step that measures writes it down."""
    issued = await farm.store.probe(probe.id)
    await farm.store.change(issued, failure=why, failure_kind="infrastructure")
    master.complete(issued.brid)


async def test_when_the_lab_failed_the_missing_iterations_become_a_job_of_their_own(
    collect, issue, past, farm, master
):
    search = await past.search()
    asked = {"reason": "search", "search_id": search.id}
    probe = await past.probe(4, iterations=5, priority=20, **asked)
    await issue()
    for ordinal in range(2):
        await past.add(probe, ordinal, 1e6)
    await fails(farm, master, probe, "the power controller does not answer")
    await collect()
    assert (await farm.store.probe(probe.id)).state == "lost"
    (anew,) = await farm.store.probes(state="new")
    assert (anew.iterations, anew.attempt) == (3, 1)
    assert anew.token != probe.token
    same = ("image_id", "testbed", "workload", "priority", "reason", "search_id")
    assert [getattr(anew, name) for name in same] == [getattr(probe, name) for name in same]


async def test_a_lab_that_fails_again_and_again_is_given_up(collect, issue, past, farm, master):
    await past.probe(4)
    for _ in range(MAX_ATTEMPTS):
        await issue()
        (issued,) = await farm.store.probes(state="issued")
        await fails(farm, master, issued, "the switch is dead")
        await collect()
    assert {probe.state for probe in await farm.store.probes()} == {"lost"}
    assert len(await farm.store.probes()) == MAX_ATTEMPTS


async def test_a_lab_that_failed_after_the_last_iteration_owes_nothing(
    collect, issue, past, farm, master
):
    probe = await past.probe(4, iterations=2)
    await issue()
    for ordinal in range(2):
        await past.add(probe, ordinal, 1e6)
    await fails(farm, master, probe, "the console was lost")
    await collect()
    (ended,) = await farm.store.probes()
    assert (ended.state, ended.failure) == ("done", None)
    assert [one.id for one in await farm.store.unjudged_probes()] == [probe.id]


async def test_collecting_twice_asks_for_nothing_twice(collect, issue, past, farm, master):
    probe = await past.probe(4)
    await issue()
    await fails(farm, master, probe, "the switch is dead")
    for _ in range(2):
        await collect()
    assert len(await farm.store.probes()) == 2


async def test_builders_that_fail_are_left_alone_for_longer_each_time(collect, past, farm, master):
    issuer = Issuer(farm, master, retry_s=60.0)
    await past.image(4, state="wanted")
    await issuer.issue()
    for pause_s in (60.0, 120.0):
        asked = len(master.requests)
        master.complete(master.requests[-1].brid)
        await collect()
        master.reactor.advance(pause_s - 1)
        await issuer.issue()
        assert len(master.requests) == asked
        master.reactor.advance(1)
        await issuer.issue()
        assert len(master.requests) == asked + 1


async def test_a_clock_that_was_set_back_delays_no_build(collect, past, farm, master):
    issuer = Issuer(farm, master, retry_s=60.0)
    image = await past.image(4, state="wanted")
    await farm.store.change(image, changed_at=farm.now() + 3600.0, attempt=1)
    await issuer.issue()
    assert len(master.requests) == 1
