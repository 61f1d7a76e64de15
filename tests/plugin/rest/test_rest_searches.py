"""The REST face: what a request's JSON means, and what is answered to one that means nothing."""

from types import SimpleNamespace

import pytest
from buildbot.data import connector, exceptions
from buildbot.data.resultspec import ResultSpec
from buildbot.util.service import MasterService
from buildbot.www.rest import JSONRPC_CODES, BadJsonRpc2

from buildbot_bench.api.requests import SearchQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.rest import searches
from buildbot_bench.plugin.rest.endpoints import asked_for, register
from buildbot_bench.plugin.rest.searches import (
    LISTED,
    JudgementEndpoint,
    SearchEndpoint,
    SearchesEndpoint,
)

pytestmark = pytest.mark.both_databases

PROBES, RECENT_PROBES = searches.BenchProbe.endpoints
JUDGEMENTS = searches.Judgement.endpoints[1]
ENDS = {"old": "r1", "new": "r11"}


@pytest.fixture
def endpoint(farm, master):
    """Makes an endpoint of the farm."""
    return lambda kind: kind(None, master)


def test_a_question_is_read_as_it_was_asked():
    said = {"testbed": "apu", "workload": "pf", "min_effect": 0.1, "error": 0.05, "owner": "ann"}
    assert asked_for(SearchQuestion, ENDS | said) == SearchQuestion(
        old="r1", new="r11", testbed="apu", workload="pf", min_effect=0.1, error=0.05
    )


def test_what_is_not_said_is_left_to_the_farm():
    assert asked_for(SearchQuestion, dict(ENDS)) == SearchQuestion(old="r1", new="r11")


@pytest.mark.parametrize("name", ["old", "new"])
@pytest.mark.parametrize("empty", [None, ""])
def test_both_ends_must_be_named(name, empty):
    with pytest.raises(UsageError, match=f"the parameter '{name}' is missing"):
        asked_for(SearchQuestion, ENDS | {name: empty})


@pytest.mark.parametrize("name", ["old", "new", "testbed", "workload"])
@pytest.mark.parametrize("value", [5, ["r1"], {"r": 1}, True])
def test_what_should_be_text_and_is_not_is_named(name, value):
    with pytest.raises(UsageError, match=f"the parameter '{name}' must be text"):
        asked_for(SearchQuestion, ENDS | {name: value})


@pytest.mark.parametrize("name", ["min_effect", "error"])
@pytest.mark.parametrize("value", [0, 1, -0.1, 2, "0.1", True, float("nan"), float("inf"), [0.1]])
def test_what_should_be_a_fraction_and_is_not_is_named(name, value):
    with pytest.raises(UsageError, match=f"the parameter '{name}' must lie between 0 and 1"):
        asked_for(SearchQuestion, ENDS | {name: value})


def test_a_long_answer_to_a_long_mistake_is_cut():
    with pytest.raises(UsageError) as error:
        asked_for(SearchQuestion, ENDS | {"testbed": ["x" * 10_000]})
    assert len(str(error.value)) < 200


async def test_a_search_is_started_for_whom_buildbot_says_it_is(endpoint, farm):
    told = await endpoint(SearchesEndpoint).control("start", {**ENDS, "owner": "ann"}, {})
    (search,) = await farm.store.searches()
    assert (told["searchid"], search.requester) == (search.id, "ann")


async def test_a_forecast_is_a_control_method_that_starts_nothing(endpoint, farm):
    told = await endpoint(SearchesEndpoint).control("forecast", dict(ENDS), {})
    assert told["commits"] == 10
    assert await farm.store.searches() == []


@pytest.mark.parametrize("asked", [{}, {"old": "r1", "new": "nonsense"}, ENDS | {"error": 7}])
@pytest.mark.parametrize("action", ["start", "forecast"])
async def test_a_persons_mistake_is_an_answer_and_no_fault_of_the_master(endpoint, action, asked):
    with pytest.raises(BadJsonRpc2) as answer:
        await endpoint(SearchesEndpoint).control(action, dict(asked), {})
    assert answer.value.jsonrpccode == JSONRPC_CODES["invalid_params"]
    assert answer.value.message


async def test_a_search_is_cancelled_by_its_number(endpoint, farm, past):
    search = await past.search()
    here = {"searchid": search.id}
    assert await endpoint(SearchEndpoint).control("cancel", {}, here) == {"state": "cancelling"}
    assert (await farm.store.search(search.id)).state == "cancelling"


async def test_a_search_that_has_ended_says_how_when_it_is_to_be_cancelled(endpoint, past):
    search = await past.search(state="found", ended_at=1.0)
    here = {"searchid": search.id}
    assert await endpoint(SearchEndpoint).control("cancel", {}, here) == {"state": "found"}


async def test_a_report_and_a_verdict_are_marked_by_whom_buildbot_says_it_is(endpoint, farm, past):
    search = await past.search(state="found", ended_at=1.0)
    asked = {"mark": "noise", "owner": "ann"}
    told = await endpoint(SearchEndpoint).control("mark", dict(asked), {"searchid": search.id})
    assert (told["kind"], told["author"]) == ("noise", "ann")
    verdict = await past.judgement(1, 2)
    here = {"judgementid": verdict.id}
    await endpoint(JudgementEndpoint).control("mark", dict(asked), here)
    shown = await endpoint(JudgementEndpoint).get(ResultSpec(), here)
    assert [mark["kind"] for mark in shown["marks"]] == ["noise"]
    assert await endpoint(JudgementEndpoint).get(ResultSpec(), {"judgementid": 99}) is None


async def test_more_boots_of_a_revision_are_asked_for(endpoint, farm, past):
    search = await past.search()
    asked = {"revision": "r5", "iterations": 4, "fresh": True}
    told = await endpoint(SearchEndpoint).control("measure", asked, {"searchid": search.id})
    (probe,) = await farm.store.probes_of_search(search.id)
    assert (told["probeid"], probe.iterations) == (probe.id, 4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"revision": None},
        {"revision": 5},
        {"iterations": 0},
        {"iterations": 101},
        {"iterations": "4"},
        {"iterations": True},
        {"fresh": "yes"},
    ],
)
async def test_a_wrong_request_for_boots_is_named_and_asks_for_none(endpoint, farm, past, wrong):
    search = await past.search()
    with pytest.raises(BadJsonRpc2, match=next(iter(wrong))):
        await endpoint(SearchEndpoint).control(
            "measure", {"revision": "r5"} | wrong, {"searchid": search.id}
        )
    assert await farm.store.probes() == []


async def test_an_unknown_number_is_a_persons_mistake(endpoint):
    with pytest.raises(BadJsonRpc2, match="there is no search 17"):
        await endpoint(SearchEndpoint).control("cancel", {}, {"searchid": 17})


@pytest.mark.parametrize("kind", [SearchEndpoint, SearchesEndpoint])
async def test_a_method_that_there_is_not_is_buildbots_to_refuse(endpoint, kind):
    with pytest.raises(exceptions.InvalidControlException):
        await endpoint(kind).control("explode", {}, {"searchid": 1})


async def test_one_search_and_its_probes_are_read_by_number(endpoint, past):
    search = await past.search()
    probe = await past.probe(1, search_id=search.id, reason="search")
    here = {"searchid": search.id}
    assert (await endpoint(SearchEndpoint).get(ResultSpec(), here))["searchid"] == search.id
    (shown,) = await endpoint(PROBES).get(ResultSpec(), here)
    assert shown["probeid"] == probe.id


async def test_lists_begin_with_the_newest_and_are_never_longer_than_the_limit(endpoint, past):
    for _ in range(3):
        await past.search()
    listed = await endpoint(SearchesEndpoint).get(ResultSpec(limit=2), {})
    assert [search["searchid"] for search in listed] == [3, 2]
    assert len(await endpoint(SearchesEndpoint).get(ResultSpec(limit=10 * LISTED), {})) == 3


async def test_verdicts_and_recent_probes_are_listed(endpoint, past):
    await past.judgement(1, 2)
    await past.probe(3)
    assert len(await endpoint(JUDGEMENTS).get(ResultSpec(), {})) == 1
    assert len(await endpoint(RECENT_PROBES).get(ResultSpec(), {})) == 1


async def test_our_resources_are_found_among_buildbots_and_stay_there_when_it_is_reconfigured():
    buildbots = connector.DataConnector()
    await buildbots.setServiceParent(MasterService())
    for _ in range(2):
        register(SimpleNamespace(data=buildbots), searches.Search)
    found, arguments = buildbots.getEndpoint(("bench", "searches", "7"))
    assert (type(found), arguments) == (SearchEndpoint, {"searchid": 7})
    assert isinstance(buildbots.getEndpoint(("bench", "judgements"))[0], JUDGEMENTS)
    assert [link["name"] for link in buildbots.rootLinks].count("bench") == 1
