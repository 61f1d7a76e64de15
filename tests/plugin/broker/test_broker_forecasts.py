"""A search that a person started gets its forecast, for which nothing waits."""

import pytest
from twisted.internet import reactor
from twisted.internet.task import deferLater

from buildbot_bench.api.requests import SearchQuestion
from buildbot_bench.plugin.broker.searching import Forecasts
from buildbot_bench.plugin.farm.calculating import use
from buildbot_bench.plugin.requests.search_requests import SearchRequests
from tests.fakes.calculating import Late
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases


async def forecast_of(farm, search_id):
    """What a broker keeps that runs a cycle whenever it is woken."""
    broker = Forecasts(farm)
    while (found := (await farm.store.search(search_id)).forecast) is None:
        farm.master.produced.clear()
        await broker.advance()
        while not farm.master.produced and (await farm.store.search(search_id)).forecast is None:
            await deferLater(reactor, 0.01)
    return found


async def test_it_is_kept_as_soon_as_it_is_known(farm):
    requests, asked = SearchRequests(farm), SearchQuestion(old="r2", new="r9")
    started = await requests.start(asked, "ann")
    told = await requests.forecast(asked)
    assert await forecast_of(farm, started["searchid"]) == {
        key: value for key, value in told.items() if key != "warnings"
    }


async def test_what_the_search_measured_meanwhile_is_not_known_to_it(farm, past):
    await past.measured(2, boots(1e6))
    started = await SearchRequests(farm).start(SearchQuestion(old="r2", new="r9"), "ann")
    farm.master.reactor.advance(60)
    await past.measured(9, boots(0.7e6), search_id=started["searchid"], reason="search")
    assert (await forecast_of(farm, started["searchid"]))["known_iterations"] == 5


async def test_a_boot_that_comes_while_it_is_worked_out_asks_for_no_other_one(farm, past):
    late = Late("forecast")
    before = use(late)
    try:
        search = await past.search(2, 9, reason="person")
        broker = Forecasts(farm)
        for position in (2, 9):
            await broker.advance()
            await past.measured(position, boots(1e6), search_id=search.id, reason="search")
        await broker.advance()
        assert len(late.tasks) == 1
        late.do()
        await broker.advance()
        assert (await farm.store.search(search.id)).forecast is not None
        assert late.tasks == []
    finally:
        use(before)


async def test_the_farms_own_searches_have_none(farm, past):
    search = await past.search(2, 9, reason="alarm")
    await Forecasts(farm).advance()
    assert (await farm.store.search(search.id)).forecast is None
    assert farm.master.produced == []
