"""A turn of the broker: everything in order, and no part keeps the others from their work."""

import pytest
from buildbot.config.errors import ConfigErrors
from twisted.python import log

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.plugin.broker import BenchBroker
from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from tests.fakes.database import asked_by
from tests.fakes.removed import worked
from tests.gitrepo import add_commits, numbered

# Whether anything changed, three times, and what is asked by the clock.
MOST_IDLE_QUERIES = 8


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


async def test_in_one_cycle_a_commit_becomes_a_request_for_its_image(make_farm, master, source):
    farm = make_farm(repository=source)
    cycle = Cycle(farm=farm, scheduler=master)
    await cycle.fetch()
    await cycle.run()
    (request,) = master.requests
    assert (request.builder, request.reason) == ("kernel", "build r3")


async def test_in_the_cycle_after_the_build_its_boots_are_asked_for(make_farm, master, source):
    farm = make_farm(repository=source)
    cycle = Cycle(farm=farm, scheduler=master)
    await cycle.fetch()
    await cycle.run()
    (image,) = await farm.store.images()
    await farm.store.change(image, changed_at=0.0, state="built", digest="d", size=1)
    master.complete(image.brid)
    await cycle.run()
    assert [request.builder for request in master.requests] == ["kernel", "bench/apu"]


async def test_a_fetch_that_the_master_ends_with_itself_is_no_failure(
    make_farm, master, source, logged
):
    farm = make_farm(repository=source)
    farm.mirroring.of("").history.stop()
    await Cycle(farm=farm, scheduler=master).fetch()
    assert logged == []


async def test_commits_are_fetched_only_in_a_cycle_that_is_asked_to(make_farm, master, source):
    farm = make_farm(repository=source)
    cycle = Cycle(farm=farm, scheduler=master)
    await cycle.fetch()
    await cycle.run()
    add_commits(source, numbered(4, 4))
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


async def test_a_cycle_that_meets_nothing_new_asks_few_queries(farm, master, past):
    await past.search(1, 11)
    await past.probe(4)
    cycle = Cycle(farm=farm, scheduler=master)
    for _ in range(3):
        await cycle.run()
    assert 0 < await asked_by(farm, cycle.run) <= MOST_IDLE_QUERIES


async def test_a_boot_costs_a_cycle_the_same_however_many_comparisons_wait(farm, master, past):
    for position in range(2, 12):
        await past.image(position)
    cycle, costs = Cycle(farm=farm, scheduler=master), []
    for last in (4, 11):
        for position in range(last - 1 if last == 4 else 5, last + 1):
            question = ComparisonQuestion(variants=("r2", f"r{position}"), images=1)
            await ComparisonRequests(farm).start(question, "ann")
        for _ in range(4):
            await cycle.run()
        await past.measured(20, (1e6,), testbed="xeon", judged=True)
        costs.append(await asked_by(farm, cycle.run))
    assert costs[0] == costs[1]


async def test_a_comparison_goes_on_when_its_boot_or_its_build_ends(farm, master, past):
    cycle = Cycle(farm=farm, scheduler=master)
    question = ComparisonQuestion(variants=("r2", "r3"), images=1, iterations=2)
    number = (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]
    for _ in range(3):
        await cycle.run()
    assert await farm.store.probes_of_ab_test(number) == []
    for position in (2, 3):
        await past.image(position)
    await worked(cycle, past)
    assert (await farm.store.ab_test(number)).state == "done"
    probes = await farm.store.probes_of_ab_test(number)
    assert sum(probe.iterations for probe in probes) == 4


async def test_what_another_master_asks_for_is_seen_in_the_next_cycle(farm, master, past):
    cycle = Cycle(farm=farm, scheduler=master)
    for _ in range(3):
        await cycle.run()
    assert master.requests == []
    await past.probe(4)  # through a store of its own, as another master's
    await cycle.run()
    assert [request.builder for request in master.requests] == ["bench/apu"]


async def test_a_boot_that_is_recorded_while_a_cycle_runs_is_not_taken_for_lost(
    farm, master, past, monkeypatch
):
    probe = await past.probe(4, iterations=1)
    cycle = Cycle(farm=farm, scheduler=master)
    for _ in range(3):
        await cycle.run()
    (issued,) = await farm.store.probes(state="issued")
    ask = master.data.get

    async def record_first(path, filters=()):
        """The boot ends between what the cycle reads and what it asks Buildbot."""
        if path == ("buildrequests",) and not master.requests[0].complete:
            await past.add(issued, 0, 1e6)
            await farm.store.change(issued, state="done", ended_at=farm.now())
            master.complete(issued.brid)
        return await ask(path, filters)

    monkeypatch.setattr(master.data, "get", record_first)
    await cycle.run()
    assert [(one.id, one.state) for one in await farm.store.probes()] == [(probe.id, "done")]


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
