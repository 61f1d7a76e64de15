"""What the Lab page and the metrics tell of control images, and how a person ends a quarantine."""

import json
from functools import partial
from types import SimpleNamespace

import pytest
from buildbot.data import connector
from buildbot.data.resultspec import ResultSpec
from buildbot.util.service import MasterService
from buildbot.www.rest import BadJsonRpc2

from buildbot_bench.plugin.pages.metrics import metrics
from buildbot_bench.plugin.queries.overview import lab
from buildbot_bench.plugin.rest import searches
from buildbot_bench.plugin.rest.endpoints import register
from tests.fakes.control import WITH_CONTROL, control_rounds

pytestmark = pytest.mark.both_databases

LEVEL = 1e6


@pytest.fixture
def farm(make_farm):
    return make_farm(WITH_CONTROL)


@pytest.fixture
def rounds(past):
    return partial(control_rounds, past)


async def shown_of(farm, name: str = "apu"):
    return next(one for one in (await lab(farm))["testbeds"] if one["testbed"] == name)


async def endpoint(master, path: str):
    buildbots = connector.DataConnector()
    await buildbots.setServiceParent(MasterService())
    register(SimpleNamespace(data=buildbots), searches.Testbed)
    found, kwargs = buildbots.getEndpoint(tuple(path.split("/")))
    found.master = master
    return found, kwargs


async def test_a_testbed_without_a_control_image_shows_none(farm):
    shown = await shown_of(farm, "xeon")
    assert (shown["control"], shown["quarantine"]) == (None, None)


async def test_a_control_image_that_is_to_come_is_learning(farm):
    control = (await shown_of(farm))["control"]
    assert (control["label"], control["state"], control["points"]) == ("r4", "learning", [])
    assert control["trouble"] is None


async def test_a_control_revision_that_there_is_not_is_told(make_farm):
    farm = make_farm((WITH_CONTROL[0], WITH_CONTROL[1].replace("r4", "r4711")))
    assert "r4711" in (await shown_of(farm))["control"]["trouble"]


async def test_the_chart_shows_each_round_and_its_limits(farm, rounds):
    await rounds(*[LEVEL] * 6)
    control = (await shown_of(farm))["control"]
    assert control["state"] == "in control"
    assert control["reference"] == pytest.approx(LEVEL, rel=0.005)
    assert [len(point["values"]) for point in control["points"]] == [3] * 6
    assert all(abs(p["deviation"]) < p["limit"] and not p["bad"] for p in control["points"])


async def test_a_quarantine_says_why_and_what_is_in_doubt(farm, rounds):
    await rounds(*[LEVEL] * 6, 0.9 * LEVEL, None)
    shown = await shown_of(farm)
    assert shown["control"]["state"] == "quarantined"
    assert [p["bad"] for p in shown["control"]["points"]] == [False] * 6 + [True] * 2
    assert shown["control"]["points"][-1]["failure"] == "the DUT does not boot"
    assert shown["quarantine"]["reason"].startswith("the control image r4 is off by -")
    assert (shown["quarantine"]["iterations"], shown["quarantine"]["images"]) == (0, 0)


async def test_what_is_held_says_so_in_the_queue(farm, past, rounds):
    await rounds(*[LEVEL] * 6, 0.9 * LEVEL)
    await past.probe(6, reason="search")
    queue = {entry["reason"]: entry["doing"] for entry in (await shown_of(farm))["queue"]}
    assert queue == {"control": "waiting", "search": "held by the quarantine"}


async def test_prometheus_learns_who_is_held_and_how_far_off(farm, rounds):
    await rounds(*[LEVEL] * 6, 0.9 * LEVEL)
    lines = (await metrics(farm)).splitlines()
    assert 'bench_testbed_quarantined{testbed="apu"} 1.0' in lines
    assert 'bench_testbed_quarantined{testbed="xeon"} 0.0' in lines
    assert any(x.startswith('bench_control_deviation_ratio{testbed="apu"} -0.1') for x in lines)
    assert any(x.startswith("bench_control_last_good_timestamp_seconds{") for x in lines)


async def test_a_testbed_is_read_and_released_over_rest(farm, master, rounds):
    await rounds(*[LEVEL] * 6, 0.9 * LEVEL)
    found, kwargs = await endpoint(master, "bench/testbeds/apu")
    assert json.dumps(await found.get(ResultSpec(), kwargs))
    assert await found.control("release", {"owner": "ann", "false_alarm": True}, kwargs) == {}
    (row,) = await farm.store.quarantines()
    assert (row.ended_by, row.trusted) == ("ann", True)
    assert (await shown_of(farm))["quarantine"] is None


@pytest.mark.parametrize(
    ("testbed", "args", "words"),
    [
        ("apu", {}, "apu is not in quarantine"),
        ("apu2", {}, "there is no testbed 'apu2'; this farm has apu, xeon"),
        ("apu", {"false_alarm": "yes"}, "must be true or false"),
    ],
)
async def test_a_release_that_makes_no_sense_is_refused(farm, master, testbed, args, words):
    found, kwargs = await endpoint(master, f"bench/testbeds/{testbed}")
    with pytest.raises(BadJsonRpc2) as refusal:
        await found.control("release", args, kwargs)
    assert words in refusal.value.message


async def test_a_testbed_that_there_is_not_is_none(farm, master):
    found, kwargs = await endpoint(master, "bench/testbeds/apu2")
    assert await found.get(ResultSpec(), kwargs) is None
