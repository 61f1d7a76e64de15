"""An alarm starts a search, unless one that is known is about the same change."""

import pytest

from buildbot_bench.core.incident.model import AlarmedSeries
from buildbot_bench.core.search import Answer, Slope, SlopePart, Step
from buildbot_bench.plugin.broker.follow_ups import search_for
from buildbot_bench.plugin.queries.incidents import explains
from tests.fakes.past import Past
from tests.plugin.farm.test_series import TWINS

SEEN = AlarmedSeries(
    testbed="apu", workload="forwarding", unit="pps", configuration="main",
    old=5, new=10, effect=-0.1,
)  # fmt: skip


def step_at(new: int) -> Answer:
    """A sure step between `new` and the position before, counted from the search's old end."""
    step = Step(old=new - 1, new=new, effect=-0.1, low=-0.11, high=-0.09, probability=0.999)
    return Answer(steps=(step,), reproduced=True, unresolved=(), reason="found")


async def raised(past, farm, *, anchor: int = 5, new: int = 10) -> int | None:
    """Raise an alarm about (anchor, new]; the search that it is linked to."""
    await past.commits(*range(1, 13))
    await past.image(anchor)
    row = await past.judgement(anchor, new)
    await search_for(farm, row, anchor=anchor, claimed=-0.1, unit="pps")
    return (await farm.store.judgement(row.id)).search_id


async def test_an_alarm_starts_a_search_from_its_anchor_to_the_revision_that_was_judged(past, farm):
    number = await raised(past, farm)
    search = await farm.store.search(number)
    assert (search.old_position, search.new_position, search.claimed) == (5, 10, -0.1)
    assert search.state == "running"


async def test_the_same_alarm_raised_again_after_a_crash_starts_no_second_search(past, farm):
    await raised(past, farm)
    (row,) = await farm.store.judgements()
    await search_for(farm, row, anchor=5, claimed=-0.1, unit="pps")
    assert len(await farm.store.searches()) == 1


async def test_an_alarm_about_a_range_that_is_searched_already_starts_none(past, farm):
    known = await past.search(4, 9)
    assert await raised(past, farm) == known.id


async def test_an_alarm_that_a_found_step_explains_starts_none(past, farm):
    known = await past.answered(step_at(6), old=2, new=12)  # r8
    assert await raised(past, farm) == known.id


async def test_a_step_elsewhere_explains_nothing(past, farm):
    known = await past.answered(step_at(2), old=2, new=12)  # r4, before the anchor
    assert await raised(past, farm) not in {None, known.id}


@pytest.mark.parametrize(
    ("state", "ended_at"), [("cancelling", None), ("cancelled", 1.0), ("failed", 1.0)]
)
async def test_a_search_that_is_given_up_explains_nothing(past, farm, state, ended_at):
    known = await past.search(4, 12, state=state, ended_at=ended_at)
    assert await raised(past, farm) not in {None, known.id}


async def test_a_search_of_another_testbed_explains_nothing(past, farm):
    known = await past.search(4, 12, testbed="xeon")
    assert await raised(past, farm) not in {None, known.id}


@pytest.mark.parametrize(
    ("old", "new", "explained"),
    [(4, 9, True), (5, 10, True), (9, 12, True), (10, 12, False), (1, 5, False)],
)
async def test_a_running_search_explains_what_its_range_shares_a_suspect_with(
    past, old, new, explained
):
    assert explains(await past.search(old, new), SEEN) is explained


@pytest.mark.parametrize(("at", "explained"), [(5, False), (6, True), (10, True), (11, False)])
async def test_a_step_explains_an_alarm_when_it_lies_after_the_anchor_and_not_after_the_sample(
    past, at, explained
):
    search = await past.answered(step_at(at - 1), old=1, new=12)
    assert explains(search, SEEN) is explained


async def test_a_search_that_found_nothing_explains_nothing(past):
    nothing = Answer(steps=(), reproduced=False, unresolved=(), reason="the ends do not differ")
    assert not explains(await past.answered(nothing, "not-reproduced", old=5, new=10), SEEN)


@pytest.mark.parametrize(
    ("old", "new", "effect", "explained"),
    [
        (5, 10, -0.2, True),
        (4, 11, -0.2, True),
        (6, 11, -0.2, False),
        (4, 9, -0.2, False),
        (4, 11, 0.2, False),
    ],
)
async def test_a_slope_explains_the_alarms_that_lie_within_it(past, old, new, effect, explained):
    begins = 3
    whole = SlopePart(old=old - begins, new=new - begins, effect=effect, low=-0.3, high=0.3)
    answer = Answer(
        steps=(),
        reproduced=True,
        unresolved=(),
        reason="the ends differ",
        slopes=(Slope(whole=whole, parts=(whole,)),),
    )
    assert explains(await past.answered(answer, "slope", old=begins, new=12), SEEN) is explained


async def test_an_alarm_of_a_busy_testbed_is_searched_by_an_idle_one_of_its_kind(
    make_farm, published
):
    farm = make_farm(*TWINS)
    past = Past(farm, published[2])
    await past.search(13, 15)
    search = await farm.store.search(await raised(past, farm))
    assert (search.testbed, search.old_position, search.new_position) == ("xeon", 5, 10)
    (row,) = await farm.store.judgements()
    await search_for(farm, row, anchor=5, claimed=-0.1, unit="pps")
    assert len(await farm.store.searches()) == 2
