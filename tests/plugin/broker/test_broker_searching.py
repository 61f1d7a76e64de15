"""How a search gets on: one probe at a time, from what the tables know, to a proved answer."""

import pytest
from twisted.internet.defer import Deferred, gatherResults

from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.core.ministat import MIN_VALUES
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.searching import (
    Searching,
    outcome,
)
from buildbot_bench.plugin.db.columns import Priority
from tests.fakes.past import boots

SLOW_FROM = 7


def level(position: int) -> float:
    return 1e6 if position < SLOW_FROM else 0.8e6


@pytest.fixture
def searching(farm) -> Searching:
    return Searching(farm)


async def searched_to_the_end(searching, past, truth=level, *, at_most: int = 120) -> int:
    """Let the search and the lab take turns until nothing is asked for; how many turns."""
    for cycle in range(at_most):
        await searching.advance()
        if not await past.lab_answers(truth):
            return cycle
    raise AssertionError("the search asks for ever")


async def test_a_search_asks_for_one_iteration_of_one_revision_at_a_time(searching, past, farm):
    search = await past.search()
    await searching.advance()
    (probe,) = await farm.store.probes_of_search(search.id)
    assert (probe.iterations, probe.reason, probe.priority) == (1, "search", Priority.SEARCH)
    assert (probe.testbed, probe.workload) == ("apu", "forwarding")
    assert (await farm.store.image(probe.image_id)).label in {"r1", "r11"}


async def test_it_waits_for_its_probe(searching, past, farm):
    search = await past.search()
    for _ in range(3):
        await searching.advance()
    assert len(await farm.store.probes_of_search(search.id)) == 1


async def test_two_masters_that_think_at_once_ask_for_one_probe(farm, past):
    search = await past.search()
    turns = [Deferred.fromCoroutine(Searching(farm).advance()) for _ in range(2)]
    await gatherResults(turns)
    assert len(await farm.store.probes_of_search(search.id)) == 1


async def test_it_ends_with_the_commit_that_made_the_step(searching, past, farm):
    search = await past.search()
    await searched_to_the_end(searching, past)
    ended = await farm.store.search(search.id)
    assert (ended.state, ended.ended_at) == ("found", farm.now())
    (step,) = ended.answer.steps
    assert (step.old, step.new) == (SLOW_FROM - 2, SLOW_FROM - 1)  # r6 and r7, from r1
    assert step.effect == pytest.approx(-0.2, abs=0.02)


async def test_before_it_ends_both_sides_of_the_step_have_enough_boots_to_be_believed(
    searching, past, farm
):
    search = await past.search()
    await searched_to_the_end(searching, past)
    measured = await farm.store.samples(("apu", "forwarding"), (1, 11))
    for side in (SLOW_FROM - 1, SLOW_FROM):
        assert sum(len(one.values) for one in measured if one.position == side) >= MIN_VALUES
    probes = await farm.store.probes_of_search(search.id)
    assert [probe.serial for probe in probes] == [*range(1, len(probes) + 1)]


async def test_a_revision_that_does_not_boot_is_stepped_around(searching, past, farm):
    search = await past.search()
    await searched_to_the_end(searching, past, lambda p: None if p in {5, 6} else level(p))
    ended = await farm.store.search(search.id)
    (step,) = ended.answer.steps
    assert (step.old, step.new) == (3, 6)  # r4 is the last that boots before r7
    broken = [await farm.store.image_of(past.shas[p], 0, "") for p in (5, 6)]
    tried = [image.id for image in broken if image is not None]
    probes = await farm.store.probes_of(tried, search.series)
    assert len(probes) <= len(tried)


async def test_ends_that_do_not_differ_are_not_reproduced(searching, past, farm):
    search = await past.search()
    await searched_to_the_end(searching, past, lambda _: 1e6)
    ended = await farm.store.search(search.id)
    assert (ended.state, ended.answer.steps) == ("not-reproduced", ())


async def test_what_was_measured_for_another_reason_is_not_measured_again(searching, past, farm):
    await past.commits(*range(1, 12))
    for position in range(1, 12):
        await past.measured(position, boots(level(position)))
    search = await past.search()
    await searched_to_the_end(searching, past)
    assert (await farm.store.search(search.id)).state == "found"
    assert len(await farm.store.probes_of_search(search.id)) <= 2


async def test_a_search_whose_probes_are_all_lost_fails_and_says_why(searching, past, farm):
    search = await past.search()
    for serial in range(MAX_FRUITLESS):
        await searching.advance()
        (probe,) = await farm.store.probes(state="new")
        await farm.store.change(probe, state="lost", failure=f"no power, {serial}")
    await searching.advance()
    ended = await farm.store.search(search.id)
    assert (ended.state, ended.detail) == ("failed", f"no power, {MAX_FRUITLESS - 1}")
    assert await farm.store.probes(state="new") == []


async def test_a_search_whose_boots_all_pass_no_traffic_fails_and_says_so(searching, past, farm):
    search = await past.search()
    for _ in range(MAX_FRUITLESS):
        await searching.advance()
        (probe,) = await farm.store.probes(state="new")
        await past.add(probe, 0, None)
        await farm.store.change(probe, state="done")
    await searching.advance()
    ended = await farm.store.search(search.id)
    assert (ended.state, ended.detail) == ("failed", "no traffic")


async def test_a_lost_probe_is_asked_for_again(searching, past, farm):
    search = await past.search()
    await searching.advance()
    (probe,) = await farm.store.probes(state="new")
    await farm.store.change(probe, state="lost", failure="no power")
    await searching.advance()
    assert len(await farm.store.probes_of_search(search.id)) == 2


async def test_a_cancelled_search_takes_back_what_it_asked_for(searching, past, farm, master):
    search = await past.search()
    other = await past.probe(4, state="issued", brid=77)
    probe = await past.probe(3, search_id=search.id, reason="search", state="issued", brid=78)
    done = await past.measured(2, (1e6,), search_id=search.id, reason="search")
    await farm.store.change(search, state="cancelling")
    await searching.advance()
    assert (await farm.store.search(search.id)).state == "cancelled"
    states = [(await farm.store.probe(one.id)).state for one in (probe, done, other)]
    assert states == ["cancelled", "done", "issued"]
    assert master.data.cancelled == [78]


async def test_a_search_that_was_cancelled_asks_for_nothing_more(searching, past, farm):
    search = await past.search()
    await farm.store.change(search, state="cancelling")
    for _ in range(2):
        await searching.advance()
    assert await farm.store.probes() == []


async def test_several_searches_get_on_side_by_side(searching, past, farm):
    searches = [await past.search(1, 11), await past.search(5, 20)]
    await searching.advance()
    asked = {probe.search_id for probe in await farm.store.probes(state="new")}
    assert asked == {search.id for search in searches}


@pytest.mark.parametrize(
    ("probability", "reproduced", "unresolved", "word"),
    [
        (0.999, True, (), "found"),
        (0.8, True, (), "inconclusive"),
        (None, False, (), "not-reproduced"),
        (None, False, ((0, 10),), "inconclusive"),
        (None, True, (), "inconclusive"),
    ],
)
def test_the_word_for_an_answer(probability, reproduced, unresolved, word):
    step = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=probability or 0.0)
    answer = Answer(
        steps=() if probability is None else (step,),
        reproduced=reproduced,
        unresolved=unresolved,
        reason="",
    )
    assert outcome(answer, 0.01) == word
