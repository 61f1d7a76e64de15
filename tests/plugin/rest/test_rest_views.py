"""The pages' REST resources, and the www plugin that Buildbot loads."""

import json
from types import SimpleNamespace

import pytest
from buildbot.data import connector
from buildbot.data.exceptions import InvalidQueryParameter
from buildbot.data.resultspec import ResultSpec
from buildbot.plugins.db import get_plugins
from buildbot.util.service import MasterService
from twisted.web.test.requesthelper import DummyRequest

from buildbot_bench.core.limits import EXPORTED_ROWS
from buildbot_bench.plugin.pages.application import BenchPages
from buildbot_bench.plugin.rest import views
from buildbot_bench.plugin.rest.endpoints import register

pytestmark = pytest.mark.both_databases


async def reading(master, path, **asked):
    """What Buildbot's REST interface would answer."""
    buildbots = connector.DataConnector()
    await buildbots.setServiceParent(MasterService())
    register(SimpleNamespace(data=buildbots), views.BenchView)
    endpoint, kwargs = buildbots.getEndpoint(tuple(path.split("/")))
    endpoint.master = master
    return await endpoint.get(ResultSpec(**asked), kwargs)


@pytest.mark.parametrize(
    "path",
    [
        "bench/series",
        "bench/lab",
        "bench/reports",
        "bench/verdicts",
        "bench/searches/1/strip",
        "bench/searches/1/commits/0",
        "bench/history/apu/forwarding/3",
        "bench/commits/r3",
    ],
)
async def test_each_resource_is_found_and_becomes_json(farm, master, past, path):
    await past.measured(3, (1e6,))
    await past.judgement(2, 3)
    await past.search()
    answer = await reading(master, path)
    assert answer
    assert json.dumps(answer)


async def test_commits_that_are_presumed_no_op_changes_are_listed_with_the_reason(
    farm, master, past
):
    await past.commits(3, 4)
    newest = await farm.store.newest_commit("main")
    await farm.store.presume_no_ops({newest.id: "r3"})
    (told,) = await reading(master, "bench/noops")
    assert (told["label"], told["subject"]) == ("r4", "Change 4")
    assert told["why"] == "changes no file that the kernel of r3 is built from"


async def test_without_a_gate_the_list_of_gates_is_empty(farm, master):
    assert await reading(master, "bench/gates") == []


@pytest.mark.parametrize(
    "path",
    [
        "bench/searches/17/strip",
        "bench/history/apu/forwarding/17",
        "bench/commits/r17",
        "bench/commits/nonsense~",
    ],
)
async def test_what_there_is_not_is_none(farm, master, path):
    assert await reading(master, path) is None


async def test_samples_are_a_file_named_after_what_is_measured(farm, master):
    answer = await reading(master, "bench/samples/apu/forwarding/csv")
    assert (answer["filename"], answer["mime-type"]) == ("apu-forwarding.csv", "text/csv")
    assert await reading(master, 'bench/samples/apu/x"; filename=y/csv') is None


async def test_a_file_that_has_not_all_rows_says_so_by_its_name(farm, master, past):
    await past.measured(3, (1.0, 2.0, 3.0))

    async def name(**asked: int) -> str:
        return (await reading(master, "bench/samples/apu/forwarding/csv", **asked))["filename"]

    assert await name() == "apu-forwarding.csv"
    assert await name(limit=2) == "apu-forwarding-newest-2.csv"
    assert await name(limit=1, offset=1) == "apu-forwarding-without-newest-1-newest-1.csv"
    with pytest.raises(InvalidQueryParameter, match="at most 100000"):
        await name(limit=EXPORTED_ROWS + 1)


async def test_resources_are_registered_once_however_often_buildbot_is_reconfigured(farm):
    buildbots = connector.DataConnector()
    await buildbots.setServiceParent(MasterService())
    for _ in range(2):
        register(SimpleNamespace(data=buildbots), views.BenchView)
    assert buildbots.getEndpoint(("bench", "lab"))


def test_buildbot_finds_the_plugin_by_its_name():
    plugin = get_plugins("www", None, load_now=True).get("bench")
    assert isinstance(plugin, BenchPages)
    assert plugin.ui
    assert plugin.version


@pytest.mark.parametrize("name", ["scripts.js", "styles.css", "history.js"])
def test_browser_asks_for_the_files_again_each_time(name):
    page = BenchPages().resource.getChild(name, DummyRequest([name.encode()]))
    request = DummyRequest([])
    page.render_GET(request)
    assert request.responseHeaders.getRawHeaders(b"cache-control") == [b"no-cache"]


def test_no_page_makes_markup_of_data():
    """React writes texts as texts; these are the ways around it."""
    pages = BenchPages().static_dir
    for script in pages.glob("*.js"):
        source = script.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write"):
            assert way not in source, script
