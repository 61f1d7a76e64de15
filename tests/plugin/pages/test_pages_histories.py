"""What is kept of a series, when it is read again, and how a browser gets it."""

import gzip
import json

import pytest
import sqlalchemy as sa
from twisted.internet.defer import Deferred, DeferredList
from twisted.web.test.requesthelper import DummyRequest

from buildbot_bench.core.metric import Metric
from buildbot_bench.plugin.db.schema import ITERATION
from buildbot_bench.plugin.pages.histories import Histories, HistoryTexts
from buildbot_bench.plugin.queries.commit_views import commit
from buildbot_bench.plugin.queries.history import heat_map
from tests.fakes.past import TESTBED, WORKLOAD

ELSEWHERE = "pf-statefull"


@pytest.fixture
def reads(farm):
    """The series that were read from the tables, in order."""
    read, points = [], farm.store.points

    async def counted(series, *of):
        read.append(series)
        return await points(series, *of)

    farm.store.points = counted
    return read


async def test_a_series_is_read_again_for_a_new_iteration_or_a_new_mark_only(farm, past, reads):
    histories = Histories()
    await past.measured(3, (1e6,))
    first = await histories.read(farm, TESTBED, WORKLOAD)
    assert await histories.read(farm, TESTBED, WORKLOAD) is first
    await past.judgement(2, 3)
    marked = await histories.read(farm, TESTBED, WORKLOAD)
    await past.measured(4, (1e6,))
    measured = await histories.read(farm, TESTBED, WORKLOAD)
    assert len({first.etag, marked.etag, measured.etag}) == len(reads) == 3


async def test_what_is_measured_elsewhere_is_no_news(farm, past, reads):
    histories = Histories()
    await past.measured(3, (1e6,))
    first = await histories.read(farm, TESTBED, WORKLOAD)
    await past.measured(4, (1e6,), workload=ELSEWHERE)
    assert await histories.read(farm, TESTBED, WORKLOAD) is first
    assert reads == [(TESTBED, WORKLOAD)]


async def test_an_iteration_that_comes_after_one_with_a_later_number_is_news(farm, past):
    histories = Histories()
    await past.measured(2, (2e6,))
    await numbered(farm, await past.measured(3, (1e6,), workload=ELSEWHERE), 101)
    assert (await histories.read(farm, TESTBED, WORKLOAD)).newest.position == 2
    await numbered(farm, await past.measured(3, (1e6,)), 50)
    assert (await histories.read(farm, TESTBED, WORKLOAD)).newest.position == 3


async def numbered(farm, probe, number: int) -> None:
    """Give the only iteration of a probe another id."""

    def change(conn):
        with conn.begin():
            where = sa.update(ITERATION).where(ITERATION.c.probe_id == probe.id)
            conn.execute(where.values(id=number))

    await farm.store.run(change)


async def test_what_a_quarantine_puts_in_doubt_leaves_the_series_at_once(farm, past):
    histories = Histories()
    probe = await past.measured(3, (1e6,))
    assert (await histories.read(farm, TESTBED, WORKLOAD)).newest is not None
    await past.quarantine(probe.id, reason="out of control")
    assert (await histories.read(farm, TESTBED, WORKLOAD)).newest is None


async def test_many_who_ask_at_once_have_it_read_once(farm, past, reads):
    histories = Histories()
    await past.measured(3, (1e6,))
    asked = [Deferred.fromCoroutine(histories.read(farm, TESTBED, WORKLOAD)) for _ in range(3)]
    told = [one for _, one in await DeferredList(asked, fireOnOneErrback=True)]
    assert told[0] is told[1] is told[2]
    assert len(reads) == 1


async def test_who_looks_after_reading_ahead_waits_for_no_table(farm, past, reads):
    histories = Histories()
    await past.measured(3, (1e6,))
    assert await histories.ahead(farm) == 1
    reads.clear()
    assert (await histories.read(farm, TESTBED, WORKLOAD)).newest.position == 3
    assert reads == []


async def test_what_is_not_measured_any_more_is_not_kept(farm, past, reads):
    histories = Histories()
    await past.measured(3, (1e6,), workload=ELSEWHERE)
    await histories.read(farm, TESTBED, ELSEWHERE)
    assert await histories.ahead(farm) == 0
    await histories.read(farm, TESTBED, ELSEWHERE)
    assert reads.count((TESTBED, ELSEWHERE)) == 2


async def asked(master, **headers: str) -> DummyRequest:
    """The request for the series after it was answered."""
    request = DummyRequest([b""])
    request.setETag = lambda _: None
    for name, value in headers.items():
        request.requestHeaders.setRawHeaders(name.replace("_", "-"), [value])
    finished: Deferred[None] = request.notifyFinish()
    page = HistoryTexts(master)
    for name in (TESTBED, WORKLOAD):
        page = page.getChild(name.encode(), request)
    page.render(request)
    await finished
    return request


async def test_a_browser_gets_it_compressed_and_in_the_shape_of_other_answers(farm, master, past):
    await past.measured(3, (1e6,))
    request = await asked(master, accept_encoding="gzip, deflate, br")
    assert request.responseHeaders.getRawHeaders("content-encoding") == ["gzip"]
    answer = json.loads(gzip.decompress(b"".join(request.written)))
    assert answer["views"][0]["positions"] == [3]


async def test_a_program_that_reads_no_gzip_gets_the_same_as_text(farm, master, past):
    await past.measured(3, (1e6,))
    request = await asked(master)
    assert request.responseHeaders.getRawHeaders("content-encoding") is None
    assert json.loads(b"".join(request.written))["views"][0]["positions"] == [3]


async def test_a_named_value_has_a_history_and_a_map_shows_all(farm, past):
    named = [Metric(name=name, unit="ns", higher_is_better=False) for name in ("BM_<b>", "other")]
    await past.commits(3, 4, 5)
    for position, value in ((3, 1.0), (4, 1.0), (5, 1.5)):
        probe = await past.measured(position, (7.0,))
        given = dict(zip(named, (value, 2.0), strict=True))
        await farm.store.add_values(probe=probe, ordinal=0, named=given)
    histories = Histories()
    (view,) = json.loads(
        gzip.decompress((await histories.read(farm, TESTBED, WORKLOAD, value="BM_<b>")).compressed)
    )["views"]
    assert (view["means"], view["unit"]) == ([1.0, 1.0, 1.5], "ns")
    assert (view["value"], view["names"]) == ("BM_<b>", ["BM_<b>", "other"])
    none = await histories.read(farm, TESTBED, WORKLOAD, value="nothing")
    assert none.newest is None
    heat = await heat_map(farm, TESTBED, WORKLOAD, "main")
    assert (heat["names"], heat["positions"]) == (["BM_<b>", "other"], [3, 4, 5])
    assert heat["cells"] == [[0, 0, 500], [0, 0, 0]]
    assert (await heat_map(farm, TESTBED, "other", "main"))["names"] == []
    shown = await commit(farm, past.shas[5])
    (values,) = (one["values"] for one in shown["series"])
    assert [(one["name"], one["difference"]) for one in values] == [("BM_<b>", 0.5), ("other", 0.0)]
