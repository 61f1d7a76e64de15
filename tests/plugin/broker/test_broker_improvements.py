"""What became better is searched when the lab has nothing else to do, each improvement once."""

import pytest

from buildbot_bench.plugin.broker.follow_ups import NEWS_S, Improvements
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.db.columns import JudgementState, Priority
from buildbot_bench.plugin.db.finding_rows import VerdictGrounds
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases


async def better(past, old: int = 5, new: int = 10, **columns):
    """The judge saw that a commit in (old, new] made it faster."""
    await past.commits(*range(1, 13))
    for position, level in ((old, 1e6), (new, 1.2e6)):
        await past.measured(position, boots(level, series=position), judged=True)
    asked = {"state": JudgementState.IMPROVEMENT, "effect": 0.2, "low": 0.19, "high": 0.21}
    asked |= {"verdict": VerdictGrounds(anchor=old, began=new), "branch": "main"}
    return await past.judgement(new - 1, new, **asked | columns)


async def searches(farm):
    await Improvements(farm).advance()
    return await farm.store.searches()


async def test_an_idle_lab_searches_for_it_once(past, farm):
    row = await better(past)
    (search,) = await searches(farm)
    assert (search.old_position, search.new_position, search.claimed) == (5, 10, 0.2)
    assert (search.state, search.reason, search.requester) == ("running", "alarm", "")
    assert (await farm.store.judgement(row.id)).search_id == search.id
    assert len(await searches(farm)) == 1


async def test_its_boots_give_way_to_all_others_and_nothing_is_built_ahead(past, farm):
    await better(past)
    await searches(farm)
    await Searching(farm).advance()
    asked = await farm.store.probes(state="new")
    assert [probe.priority for probe in asked] == [Priority.IMPROVEMENT]
    assert min(Priority) is Priority.IMPROVEMENT
    images = await farm.store.images(state="wanted")
    assert {image.id for image in images} <= {probe.image_id for probe in asked}


async def test_it_waits_while_a_boot_or_a_search_is_wanted_of_the_lab(past, farm):
    await better(past)
    probe = await past.probe(3)
    assert await searches(farm) == []
    await farm.store.change(probe, state="done")
    other = await past.search()
    assert await searches(farm) == [other]
    await farm.store.change(other, state="cancelled", ended_at=farm.now())
    assert len(await searches(farm)) == 2


async def test_another_lab_that_is_busy_keeps_nothing_up(past, farm):
    await better(past)
    await past.probe(3, testbed="xeon")  # of another worker
    assert len(await searches(farm)) == 1


async def test_one_improvement_on_two_series_is_one_incident(past, farm):
    first = await better(past)
    await past.measured(10, boots(1e6), judged=True, testbed="xeon")
    second = await better(past, workload="pf", testbed="apu")
    (search,) = await searches(farm)
    assert len(await searches(farm)) == 1  # a search goes on
    assert (await farm.store.judgement(first.id)).search_id == search.id
    assert (await farm.store.judgement(second.id)).search_id is None


@pytest.mark.parametrize("kind", ["noise", "expected"])
async def test_what_people_know_of_is_not_searched(past, farm, kind):
    row = await better(past)
    await farm.store.add_mark(judgement_id=row.id, kind=kind, author="ann", now=1.0)
    assert await searches(farm) == []
    await farm.store.add_mark(judgement_id=row.id, kind="withdrawn", author="ann", now=1.0)
    assert len(await searches(farm)) == 1


async def test_old_ones_and_those_of_older_releases_are_left_alone(past, farm, master):
    await better(past, verdict=VerdictGrounds())
    assert await searches(farm) == []
    await better(past, new=11)
    master.reactor.advance(NEWS_S + 1)
    assert await searches(farm) == []


async def test_a_regression_is_none(past, farm):
    await better(past, state=JudgementState.REGRESSION, effect=-0.2)
    assert await searches(farm) == []


async def test_a_testbed_that_the_farm_lost_is_not_searched(past, farm, reconfigure):
    await better(past, testbed="gone")
    assert await searches(farm) == []


async def test_bench_yml_may_forbid_it(past, farm, reconfigure):
    reconfigure(farm, ("error: 1%}", "error: 1%, improvements: false}"))
    await better(past)
    assert await searches(farm) == []
