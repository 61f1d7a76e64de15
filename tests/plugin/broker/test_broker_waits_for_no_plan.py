"""A cycle goes on while a plan is worked out, and looks once for the commits of a push."""

import pytest

from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.farm.calculating import use
from tests.fakes.calculating import Late
from tests.gitrepo import add_commits, make_repository, numbered


@pytest.fixture
def late():
    there = Late("plan")
    before = use(there)
    yield there
    use(before)


async def test_a_search_whose_plan_is_not_known_keeps_nothing_from_being_done(
    farm, past, master, late
):
    search = await past.search()
    await past.probe(4)
    cycle = Cycle(farm=farm, scheduler=master)
    for _ in range(2):
        await cycle.run()
    assert await farm.store.probes_of_search(search.id) == []
    assert [request.builder for request in master.requests] == ["bench/apu"]
    assert len(late.tasks) == 1


async def test_when_its_plan_is_known_a_cycle_begins_that_goes_by_it(farm, past, master, late):
    search = await past.search()
    searching = Searching(farm)
    await searching.advance()
    assert master.produced == []
    late.do()
    assert master.produced == [("bench", "broker", "wake")]
    await searching.advance()
    assert len(await farm.store.probes_of_search(search.id)) == 1


async def test_a_search_that_waits_for_a_kernel_is_looked_at_again_when_its_plan_is_known(
    farm, past, late
):
    search = await past.search()
    searching = Searching(farm)
    await searching.advance()
    late.do()
    await searching.advance()
    (wanted,) = await farm.store.images(state="wanted")
    await past.image(wanted.position)
    for _ in range(2):
        await searching.advance()
    assert len(await farm.store.images(state="wanted")) == 0
    late.do()
    await searching.advance()
    assert len(await farm.store.images(state="wanted")) == 1
    assert len(await farm.store.probes_of_search(search.id)) == 1


async def test_of_a_push_only_what_did_not_come_in_with_the_last_look_is_news(make_farm, tmp_path):
    source = tmp_path / "watched"
    make_repository(source, numbered(1, 3))
    watch = CommitWatch(make_farm(repository=source))
    await watch.advance()
    shas = add_commits(source, numbered(4, 6))
    assert not any(watch.has_brought_in("main", sha) for sha in shas)
    await watch.advance()
    assert all(watch.has_brought_in("main", sha) for sha in shas)
    assert not watch.has_brought_in("stable", shas[0])
