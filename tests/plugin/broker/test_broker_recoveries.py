"""A regression closes by itself when a later improvement brings its level back."""

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.alarms import Recoveries
from buildbot_bench.plugin.db.columns import JudgementState
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

LEVEL = 1e6
DROP = Step(old=4, new=5, effect=-0.1, low=-0.11, high=-0.09, probability=0.999)


def found(step: Step = DROP) -> Answer:
    return Answer(steps=(step,), reproduced=True, unresolved=(), reason="located")


async def regressed(past, step: Step = DROP):
    """r6 is 10 % slower than r5, as a search from r1 to r11 found."""
    await past.commits(*range(1, 20))
    await past.measured(5, boots(LEVEL))
    await past.measured(6, boots(0.9 * LEVEL, series=6))
    return await past.answered(found(step))


async def improved(past, old: int, new: int, level: float, **columns):
    await past.measured(old, boots(0.9 * LEVEL, series=old))
    await past.measured(new, boots(level, series=new))
    return await past.judgement(old, new, **{"state": JudgementState.IMPROVEMENT} | columns)


async def recovery_of(farm, search):
    await Recoveries(farm).advance()
    return (await farm.store.search(search.id)).recovery


async def test_an_improvement_back_to_the_level_closes_it_with_its_range(past, farm):
    search = await regressed(past)
    await improved(past, 14, 15, LEVEL)
    recovery = await recovery_of(farm, search)
    assert (recovery.old_label, recovery.new_label) == ("r14", "r15")
    assert recovery.difference == pytest.approx(0, abs=0.01)
    assert recovery.at_s == farm.now()


async def test_half_of_the_way_back_closes_nothing_and_the_rest_of_it_does(past, farm):
    search = await regressed(past)
    await improved(past, 12, 13, 0.95 * LEVEL)
    recoveries = Recoveries(farm)
    await recoveries.advance()
    await recoveries.advance()
    assert (await farm.store.search(search.id)).recovery is None
    await improved(past, 14, 15, LEVEL)
    await recoveries.advance()
    assert (await farm.store.search(search.id)).recovery.new_label == "r15"


async def test_an_improvement_elsewhere_or_before_it_closes_nothing(past, farm):
    search = await regressed(past)
    await improved(past, 3, 4, LEVEL)
    await improved(past, 14, 15, LEVEL, testbed="xeon")
    await improved(past, 16, 17, LEVEL, workload="ipfw")
    assert await recovery_of(farm, search) is None


async def test_a_level_of_another_epoch_is_none_to_compare_with(past, farm):
    search = await regressed(past)
    await past.measured(14, boots(0.9 * LEVEL, series=14), epoch="2")
    await past.measured(15, boots(LEVEL, series=15), epoch="2")
    await past.judgement(14, 15, state=JudgementState.IMPROVEMENT)
    assert await recovery_of(farm, search) is None


async def test_what_a_search_only_suspects_or_found_better_is_no_incident(past, farm):
    better = Step(old=4, new=5, effect=0.1, low=0.09, high=0.11, probability=0.999)
    unsure = Step(old=4, new=5, effect=-0.1, low=-0.11, high=-0.09, probability=0.8)
    for step in (better, unsure):
        search = await regressed(past, step)
        await improved(past, 14, 15, LEVEL)
        assert await recovery_of(farm, search) is None


async def test_it_closes_once(past, farm):
    search = await regressed(past)
    await improved(past, 14, 15, LEVEL)
    first = await recovery_of(farm, search)
    farm.master.reactor.advance(60)
    await improved(past, 16, 17, LEVEL)
    assert await recovery_of(farm, search) == first
