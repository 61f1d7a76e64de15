"""Which commits are measured: the newest first, one at a time in a series, the rest when idle."""

import math
from random import Random

import pytest

from buildbot_bench.plugin.broker.commit_queue import ASK_AGAIN_AFTER_S, CommitQueue
from tests.contracts.pages.plans import recorded
from tests.fakes.past import Past


async def asked_for(farm) -> list[tuple[str, str]]:
    """The label and the reason of each probe that waits, oldest first."""
    probes = sorted(await farm.store.probes(state="new"), key=lambda probe: probe.id)
    return [((await farm.store.image(p.image_id)).label, str(p.reason)) for p in probes]


async def test_the_newest_commit_is_measured_first(farm, past):
    await past.commits(1, 2, 3, 4)
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == [("r4", "commit")]


async def test_a_commit_is_asked_for_as_bench_yml_says(farm, past):
    await past.commits(4)
    await CommitQueue(farm).advance()
    (probe,) = await farm.store.probes()
    assert (probe.testbed, probe.workload, probe.iterations) == ("apu", "forwarding", 5)
    image = await farm.store.image(probe.image_id)
    assert (image.sha, image.ordinal, image.state) == (past.shas[4], 0, "wanted")


async def test_a_series_measures_one_commit_at_a_time(farm, past):
    await past.commits(1, 2)
    await CommitQueue(farm).advance()
    await past.commits(3)
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == [("r2", "commit")]


async def test_commits_that_came_meanwhile_are_next_newest_first_and_the_skipped_ones_wait(
    farm, past
):
    await past.commits(1)
    await past.measured(1, (1e6,))
    await past.commits(2, 3, 4)
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == [("r4", "commit")]


async def test_skipped_commits_are_measured_when_the_lab_is_idle(farm, past):
    await past.commits(1, 2, 3)
    await past.measured(3, (1e6,))
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == [("r2", "backfill")]


async def test_nothing_is_backfilled_while_the_testbed_has_other_work(farm, past):
    await past.commits(1, 2, 3)
    await past.measured(3, (1e6,))
    await past.probe(3, reason="confirm")
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == [("r3", "confirm")]


async def test_nothing_is_backfilled_while_a_search_runs_there(farm, past):
    await past.commits(1, 2, 3)
    await past.measured(3, (1e6,))
    await past.search(1, 3)
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == []


async def test_a_new_commit_does_not_wait_for_a_search(farm, past):
    await past.commits(1, 2, 3, 4)
    await past.measured(3, (1e6,))
    await past.search(1, 3)
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == [("r4", "commit")]


async def test_a_commit_that_touches_nothing_watched_is_never_measured(farm, past):
    await past.commits(1)
    await past.commits(2, important=False)
    await past.measured(1, (1e6,))
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == []


async def test_each_series_measures_for_itself(make_farm, published):
    farm = make_farm(
        ("runs-on: apu", "runs-on: [apu, xeon]"), ("[forwarding]", "[forwarding, ipfw]")
    )
    await Past(farm, published[2]).commits(1)
    await CommitQueue(farm).advance()
    all_series = {(probe.testbed, probe.workload) for probe in await farm.store.probes()}
    assert all_series == {(b, w) for b in ("apu", "xeon") for w in ("forwarding", "ipfw")}
    assert len(await farm.store.images()) == 1


async def test_with_iterations_auto_the_first_kernels_teach_the_noise(make_farm, published):
    farm = make_farm(("iterations: 5", "iterations: auto"))
    await Past(farm, published[2]).commits(1)
    await CommitQueue(farm).advance()
    (probe,) = await farm.store.probes()
    assert probe.iterations == 5


async def test_with_iterations_auto_a_kernel_is_booted_once_when_the_noise_is_known(
    make_farm, published
):
    farm = make_farm(("iterations: 5", "iterations: auto"))
    past = Past(farm, published[2])
    known = range(1, 13)
    await past.commits(*known, 13)
    for position in known:
        boots = tuple(1e6 + 3e3 * math.sin(7 * position + boot) for boot in range(5))
        await past.measured(position, boots)
    await CommitQueue(farm).advance()
    (probe,) = await farm.store.probes(state="new")
    assert probe.iterations == 1


async def test_a_commit_whose_measurement_was_cancelled_is_asked_for_again(farm, past):
    await past.commits(1, 2)
    await CommitQueue(farm).advance()
    (first,) = await farm.store.probes()
    await farm.store.change(first, state="cancelled")
    await CommitQueue(farm).advance()
    (second,) = await farm.store.probes(state="new")
    assert (await farm.store.image(second.image_id)).label == "r2"
    assert second.token != first.token


async def test_a_commit_that_sick_machines_lost_is_asked_for_again_after_an_hour(
    farm, past, master
):
    await past.commits(1)
    await CommitQueue(farm).advance()
    (first,) = await farm.store.probes()
    await farm.store.change(first, state="lost", ended_at=farm.now())
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == []
    master.reactor.advance(ASK_AGAIN_AFTER_S + 1)
    await CommitQueue(farm).advance()
    assert await asked_for(farm) == [("r1", "backfill")]


async def test_an_image_that_the_builders_failed_to_make_is_tried_again_when_asked_for(farm, past):
    await past.commits(1)
    await past.image(1, state="failed", attempt=3)
    await CommitQueue(farm).advance()
    (image,) = await farm.store.images()
    assert (image.state, image.attempt) == ("wanted", 0)


async def test_a_farm_that_watches_no_pushes_measures_only_what_people_ask_for(
    make_farm, published
):
    farm = make_farm(("  push:\n    branches: [main]\n    paths: [sys/**]\n", ""))
    await Past(farm, published[2]).commits(1)
    await CommitQueue(farm).advance()
    assert await farm.store.probes() == []


@pytest.mark.parametrize("seed", range(6))
async def test_a_queue_that_remembers_leaves_nothing_to_one_that_does_not(farm, past, seed):
    """Whatever happens to commits and their requests, in whatever order."""
    chance, lasting, arrived = Random(seed), CommitQueue(farm), 1
    await past.commits(1)
    for _ in range(25):
        open_probes = await farm.store.probes(state="new")
        match chance.choice(("arrive", "end", "end", "end", "hour", "back")):
            case "arrive":
                await past.commits(*range(arrived + 1, min(arrived + chance.randint(1, 3), 20) + 1))
                arrived = (await farm.store.newest_commit("main")).position
            case "back" if arrived > 2:
                arrived -= chance.randint(1, 2)
                await farm.store.forget_commits("main", arrived)
            case "hour":
                farm.master.reactor.advance(ASK_AGAIN_AFTER_S + 1)
            case _ if open_probes:
                state = chance.choice(("done", "done", "lost", "cancelled"))
                now = farm.now()
                await farm.store.change(open_probes[0], state=state, ended_at=now)
        await lasting.advance()
        known = len(await farm.store.probes())
        await CommitQueue(farm).advance()
        assert len(await farm.store.probes()) == known


async def test_a_series_that_has_measured_all_is_not_asked_about_again(farm, past, pool):
    await past.commits(*range(1, 11))
    for position in range(1, 11):
        await past.measured(position, (1e6,))
    queue = CommitQueue(farm)
    await queue.advance()
    with recorded(pool.engine) as asked:
        await queue.advance()
    assert not [query for query in asked if "no_op_of IS NULL" in query]
    await past.commits(11)
    await queue.advance()
    assert await asked_for(farm) == [("r11", "commit")]
