"""What was measured stays readable when bench.yml loses the testbed, its name or the workload."""

import inspect
import json
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest
from buildbot.data import base, connector
from buildbot.data.resultspec import ResultSpec
from buildbot.util.service import MasterService
from twisted.internet.defer import Deferred
from twisted.web.resource import getChildForRequest
from twisted.web.test.requesthelper import DummyRequest

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.finding_rows import VerdictGrounds
from buildbot_bench.plugin.pages.application import BenchPages
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.rest import searches, views
from buildbot_bench.plugin.service import register_resources
from tests.fakes.past import boots
from tests.fakes.removed import WAYS

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
FOUND = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="each step is located")
FOLDED = "main;ip_input 700\ncpu_idle 200\n"
MODULES = (searches, views)
# The rows of `lived` by what a path's parts are called.
PARTS = {
    "s:testbed": "apu",
    "s:workload": "forwarding",
    "n:searchid": "1",
    "n:comparisonid": "1",
    "n:incidentid": "1",
    "n:judgementid": "1",
    "n:position": "7",
    "s:revision": "r7",
    "n:offset": "6",
}
# What the farm is now, and not what it measured.
OF_TODAY = {"/bench/testbeds/s:testbed", "/bench/gates", "/bench/noops"}
FILES = [
    "history/apu/forwarding",
    "flamegraph/1.svg",
    "flamegraph/1-2.svg",
    "flamegraph/1.folded",
    "metrics",
    "badge.svg",
    "glossary.html",
]


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def patterns(module: ModuleType) -> Iterator[str]:
    """The paths of all resources of a module."""
    for _, kind in inspect.getmembers(module, inspect.isclass):
        if issubclass(kind, base.ResourceType) and kind.__module__ == module.__name__:
            for endpoint in kind.endpoints:
                yield from endpoint.pathPatterns


PATHS = sorted(
    "/".join(PARTS.get(part, part) for part in pattern.split("/"))
    for module in MODULES
    for pattern in patterns(module)
    if pattern not in OF_TODAY
)
REPORT = "/bench/searches/1/report"
# What is told of what ended, and of nothing that goes on; a report says what the farm has now.
STEADY = [
    path
    for path in PATHS
    if ("/1/" in path or "history" in path or "samples" in path) and path != REPORT
]


async def live(past, farm) -> None:
    """A search ended, with captures, a mark, a verdict and a comparison beside it."""
    await past.commits(*range(1, 12))
    for position in range(1, 12):
        level = 1e6 if position < 7 else 0.8e6
        await past.measured(position, boots(level, series=position), judged=True)
    search = await past.answered(FOUND)
    await past.measured(6, boots(1e6, series=20), reason="search", search_id=search.id)
    await MarkRequests(farm).mark_search(search.id, "expected", author="ann", fixed_by="")
    await past.judgement(6, 7, verdict=VerdictGrounds(image=1, reason="it fell"))
    question = ComparisonQuestion(variants=("r6", "r7"))
    ab_test_id = (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]
    for position in (6, 7):
        await past.measured(position, boots(1e6, series=position), ab_test_id=ab_test_id)
        row = await farm.store.ensure_profile(
            key=f"k{position}",
            token="job",
            image_id=(await past.image(position)).id,
            testbed="apu",
            workload="forwarding",
            search_id=search.id,
            now=1.0,
        )
        kept = await farm.store.add_capture(counter="cycles", folded=FOLDED, taken_at=1.0)
        await farm.store.change(row, state="done", digest=kept.digest)
    ab_test = await farm.store.ab_test(ab_test_id)
    await farm.store.change_ab_test(ab_test, state="done", ended_at=farm.now())


async def answered(master, path: str):
    """What Buildbot's REST interface would answer."""
    buildbots = connector.DataConnector()
    await buildbots.setServiceParent(MasterService())
    register_resources(SimpleNamespace(data=buildbots))
    endpoint, kwargs = buildbots.getEndpoint(tuple(path.strip("/").split("/")))
    endpoint.master = master
    return await endpoint.get(ResultSpec(), kwargs)


async def got(master, path: str) -> tuple[int, bytes]:
    """Status and body of a page under plugins/bench."""
    pages = BenchPages()
    told = SimpleNamespace(getResourceType=lambda _: 1)
    pages.setMaster(SimpleNamespace(data=told, reactor=master.reactor))
    for child in pages.resource.children.values():
        for name in ("master", "_master"):
            if hasattr(child, name):
                setattr(child, name, master)
    request = DummyRequest([part.encode() for part in path.split("/")])
    finished: Deferred[None] = request.notifyFinish()
    getChildForRequest(pages.resource, request).render(request)
    await finished
    return request.responseCode or 200, b"".join(request.written)


async def test_each_resource_of_what_ended_answers(past, farm, master, reconfigure, way):
    await live(past, farm)
    before = {path: await answered(master, path) for path in PATHS}
    assert all(before.values())
    reconfigure(farm, *way[0])
    after = {path: await answered(master, path) for path in PATHS}
    assert {path for path in PATHS if not after[path]} == set()
    assert json.dumps(after)
    assert {path for path in STEADY if after[path] != before[path]} == set()
    told, search = (answers["/bench/searches/1"] for answers in (before, after))
    assert search["report"]["headline"] == told["report"]["headline"]
    assert search["marks"] == told["marks"]
    assert "<b>r7</b>" in after[REPORT]["card"]


async def test_each_file_of_what_was_measured_is_there(past, farm, master, reconfigure, way):
    await live(past, farm)
    reconfigure(farm, *way[0])
    found = {path: await got(master, path) for path in FILES}
    assert {status for status, _ in found.values()} == {200}
    assert all(body for _, body in found.values())
    (series,) = json.loads(found["history/apu/forwarding"][1])["views"]
    assert series["positions"] == list(range(1, 12))


async def test_the_series_is_listed_with_the_reason_why_it_ends(
    past, farm, master, reconfigure, way
):
    replaced, why = way
    await live(past, farm)
    reconfigure(farm, *replaced)
    all_series = await answered(master, "/bench/series")
    assert all_series[-1] == {
        "branch": "main",
        "testbed": "apu",
        "workload": "forwarding",
        "gone": why,
    }
    assert all("gone" not in series for series in all_series[:-1])


async def test_a_testbed_that_never_measured_anything_is_not_listed(
    past, farm, master, reconfigure
):
    await past.probe(4)
    reconfigure(farm, *WAYS["removed"][0])
    assert await answered(master, "/bench/series") == [
        {"branch": "main", "testbed": "xeon", "workload": "forwarding"}
    ]


async def test_a_report_goes_on_telling_what_a_testbed_measured_that_is_gone(
    past, farm, master, reconfigure
):
    await live(past, farm)
    for position in (6, 7):
        await past.measured(
            await past.image(position), boots(2e6, series=position), testbed="old", judged=True
        )
    (search,) = await answered(master, "/bench/searches")
    told = await answered(master, f"/bench/searches/{search['searchid']}")
    assert "old" in {series["testbed"] for series in told["report"]["scope"]}
