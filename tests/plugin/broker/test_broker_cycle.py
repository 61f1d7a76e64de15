"""A turn of the broker: everything in order, and no part keeps the others from their work."""

from __future__ import annotations

import pytest
from buildbot.config.errors import ConfigErrors
from twisted.python import log

from buildbot_bench.plugin.broker import BenchBroker
from buildbot_bench.plugin.broker.scheduler import Cycle
from tests.gitrepo import add_commits, make_repository, numbered


@pytest.fixture
def logged():
    """What went to the master's log as errors."""
    events: list[str] = []

    def observe(event):
        if event["isError"]:
            events.append(event["why"])

    log.addObserver(observe)
    yield events
    log.removeObserver(observe)


async def test_in_one_cycle_a_commit_becomes_a_request_for_its_image(make_farm, master, tmp_path):
    make_repository(tmp_path / "watched", numbered(1, 3))
    farm = make_farm(repository=tmp_path / "watched")
    cycle = Cycle(farm=farm, scheduler=master)
    await cycle.fetch()
    await cycle.run()
    (request,) = master.requests
    assert (request.builder, request.reason) == ("kernel", "build r3")


async def test_in_the_cycle_after_the_build_its_boots_are_asked_for(make_farm, master, tmp_path):
    make_repository(tmp_path / "watched", numbered(1, 3))
    farm = make_farm(repository=tmp_path / "watched")
    cycle = Cycle(farm=farm, scheduler=master)
    await cycle.fetch()
    await cycle.run()
    (image,) = await farm.store.images()
    await farm.store.change_image(image, now=0.0, state="built", digest="d", size=1)
    master.complete(image.brid)
    await cycle.run()
    assert [request.builder for request in master.requests] == ["kernel", "bench/apu"]


async def test_commits_are_fetched_only_in_a_cycle_that_is_asked_to(make_farm, master, tmp_path):
    make_repository(tmp_path / "watched", numbered(1, 3))
    farm = make_farm(repository=tmp_path / "watched")
    cycle = Cycle(farm=farm, scheduler=master)
    await cycle.fetch()
    await cycle.run()
    add_commits(tmp_path / "watched", numbered(4, 4))
    await cycle.run()
    assert (await farm.store.newest_commit("main")).svn == 3


async def test_a_repository_that_is_away_does_not_stop_the_lab(make_farm, past, master, logged):
    farm = make_farm(repository="https://127.0.0.1:1/nothing.git")
    await past.probe(4)
    cycle = Cycle(farm=farm, scheduler=master)
    await cycle.fetch()
    await cycle.run()
    assert [request.builder for request in master.requests] == ["bench/apu"]
    assert any("'fetch'" in why for why in logged)


async def test_a_search_that_fails_is_named_in_the_log_and_holds_up_no_other(
    farm, master, past, logged
):
    broken = await past.search(1, 11, new_sha="f" * 40)
    sound = await past.search(1, 11)
    await past.probe(4)
    await Cycle(farm=farm, scheduler=master).run()
    assert {request.builder for request in master.requests} == {"bench/apu", "kernel"}
    assert await farm.store.probes_of_search(sound.id)
    assert any(f"search {broken.id} failed" in why for why in logged)


def test_a_timer_that_never_rings_is_refused():
    with pytest.raises(ConfigErrors, match="reconcile_s must be positive, not 0"):
        BenchBroker(name="bench", builderNames=["kernel"], reconcile_s=0)
