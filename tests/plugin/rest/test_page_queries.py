"""How often a page asks the database: each question costs a busy machine some 100 ms."""

import pytest
from buildbot.data.resultspec import ResultSpec

from buildbot_bench.plugin.rest.searches import SearchesEndpoint
from tests.fakes.database import asked_by

# Its progress and its marks; what all searches wait for is found once.
QUERIES_OF_A_SEARCH = 2


@pytest.fixture
def endpoint(farm, master):
    """Makes an endpoint of the farm."""
    return lambda kind: kind(None, master)


async def test_a_list_that_is_read_again_asks_once_whether_anything_changed(endpoint, farm, past):
    async def read():
        return await endpoint(SearchesEndpoint).get(ResultSpec(), {})

    for _ in range(3):
        await past.search()
    await read()
    assert await asked_by(farm, read) == 1
    await past.search(requester="bob")  # through a store of its own, as another master's
    assert next(search["requester"] for search in await read()) == "bob"


async def test_another_search_in_the_list_costs_few_queries_more(endpoint, farm, past):
    async def read():
        await endpoint(SearchesEndpoint).get(ResultSpec(), {})

    costs = []
    for _ in range(2):
        await past.search()
        costs.append(await asked_by(farm, read))
    assert costs[1] <= costs[0] + QUERIES_OF_A_SEARCH
