"""A search's range as the page draws it: offsets from the old end."""

from random import uniform

import pytest
from twisted.internet import reactor
from twisted.internet.task import deferLater

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.farm.calculating import use
from buildbot_bench.plugin.queries.searches import strip
from tests.fakes.calculating import AtOnce
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


async def test_a_search_that_there_is_not_has_no_strip(farm):
    assert await strip(farm, 17) is None


async def test_each_commit_is_what_is_known_of_it(farm, past):
    search = await past.search(2, 10)
    await past.measured(2, (1e6, 2e6))
    await past.image(3, digest="a" * 64)
    await past.image(4, digest="a" * 64)
    await past.image(5, state="untestable")
    await past.image(6, state="building")
    await past.image(7, state="wanted")
    shown = await strip(farm, search.id)
    assert (shown["commits"], shown["state"], shown["unit"]) == (8, "running", "pps")
    assert shown["measured"] == [{"at": 0, "n": 2, "mean": 1.5e6, "low": 1e6, "high": 2e6}]
    assert (shown["built"], shown["folded"]) == ([0, 1, 2], [2])
    assert (shown["untestable"], shown["building"]) == ([3], [4, 5])
    assert (shown["suspects"], shown["culprits"]) == ([], [])


async def test_suspects_come_with_both_ends_and_their_names(farm, past):
    search = await past.search(1, 11)
    await past.measured(1, boots(1e6))
    await past.measured(6, boots(1e6))
    await past.measured(11, boots(0.8e6))
    first = (await strip(farm, search.id))["suspects"][0]
    assert (first["old"], first["after"]) == (5, "r6")
    assert (first["new"], first["label"]) == (10, "r11")
    assert first["probability"] > 0.5
    assert first["effect"] < -0.1


class NoForecasts(AtOnce):
    """Has all calculated but forecasts, which never end."""

    def add(self, task):
        if task.name != "forecast":
            super().add(task)


async def left_of(farm, search):
    """What is left, as somebody sees who looks again until it is worked out."""
    while (left := (await strip(farm, search.id))["left"]) is None:
        await deferLater(reactor, 0.01)
    return left


async def test_nobody_waits_for_what_is_left_to_be_worked_out(farm, past):
    search = await past.search(2, 11, min_effect=uniform(0.03, 0.04))  # no answer to it is kept
    before = use(NoForecasts())
    try:
        assert (await strip(farm, search.id))["left"] is None
    finally:
        use(before)


async def test_less_is_left_when_the_step_turns_out_to_be_large(farm, past):
    search = await past.search(1, 11)
    before = await left_of(farm, search)
    await past.measured(1, boots(1e6), search_id=search.id, reason="search")
    await past.measured(11, boots(0.6e6), search_id=search.id, reason="search")
    after = await left_of(farm, search)
    assert after["iterations"] < before["iterations"]
    assert not before["over"]


async def test_what_was_measured_for_other_reasons_is_not_measured_again(farm, past):
    search = await past.search(1, 2)
    before = await left_of(farm, search)
    for _ in range(4):
        await past.measured(1, boots(1e6))
        await past.measured(2, boots(1e6))
    left = await left_of(farm, search)
    assert (left["iterations"], left["images"], left["hours"], left["over"]) == (0, 0, 0, True)
    assert before["iterations"] > 0
    assert not before["over"]


async def test_an_ended_search_shows_its_culprits_and_nothing_that_is_left(farm, past):
    await past.measured(7, boots(0.8e6))
    search = await past.answered(ANSWER)
    shown = await strip(farm, search.id)
    assert shown["culprits"] == [{"at": 6, "label": "r7", "effect": -0.2}]
    assert (shown["suspects"], shown["left"]) == ([], None)


@pytest.mark.parametrize(("unit", "higher"), [("pps", True), ("instructions/packet", False)])
async def test_it_says_which_way_is_better(farm, past, unit, higher):
    search = await past.search(1, 11, unit=unit)
    await past.measured(1, boots(1e3), unit=unit)
    assert (await strip(farm, search.id))["higher_is_better"] is higher
