"""What programs read: samples as CSV, Prometheus' metrics, the badge."""

import csv
import io
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.threadable import isInIOThread
from twisted.web.test.requesthelper import DummyRequest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.series import ExportRow
from buildbot_bench.plugin.farm import SERVICE_NAME
from buildbot_bench.plugin.pages.application import _Page, badge, glossary, state
from buildbot_bench.plugin.pages.deferred_resource import KEEP_S
from buildbot_bench.plugin.pages.histories import _SeriesText
from buildbot_bench.plugin.pages.metrics import Gauge, exposition, metrics
from buildbot_bench.plugin.rest.views import as_csv, samples_csv
from buildbot_bench.plugin.service import BenchService
from buildbot_bench.render.html import Tone, badge_svg
from tests.fakes.past import boots

ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")
ROW = ExportRow(
    label="r1",
    sha="a" * 40,
    position=1,
    image=0,
    testbed="apu",
    workload="forwarding",
    epoch="1",
    iteration=0,
    unit="pps",
    value=1e6,
    failure=None,
    at_s=1.5,
    duration_s=2.0,
    in_doubt=False,
)


async def written(farm, **asked) -> str:
    return (await samples_csv(farm, ("apu", "forwarding"), "main", **asked)).text


async def test_a_file_has_the_newest_rows_and_says_that_it_is_cut(farm, past):
    await past.measured(3, (1.0, 2.0))
    await past.measured(4, (3.0, 4.0))

    async def values(**asked: int) -> tuple[list[str], bool]:
        file = await samples_csv(farm, ("apu", "forwarding"), "main", **asked)
        return [row["value"] for row in csv.DictReader(io.StringIO(file.text))], file.is_cut

    assert await values() == (["1.0", "2.0", "3.0", "4.0"], False)
    assert await values(limit=4) == (["1.0", "2.0", "3.0", "4.0"], False)
    assert await values(limit=3) == (["2.0", "3.0", "4.0"], True)
    assert await values(limit=3, offset=2) == (["1.0", "2.0"], False)


async def test_every_iteration_is_a_line_failed_ones_too(farm, past):
    probe = await past.measured(3, (1e6, 1234567.25))
    await past.add(probe, 2, None)
    rows = list(csv.DictReader(io.StringIO(await written(farm))))
    assert [row["value"] for row in rows] == ["1000000.0", "1234567.25", ""]
    assert [row["failure"] for row in rows] == ["", "", "no traffic"]
    assert {row["label"] for row in rows} == {"r3"}


@pytest.mark.parametrize("words", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(words):
    (row,) = csv.DictReader(io.StringIO(as_csv([replace(ROW, failure=words)]), newline=""))
    assert row["failure"] == f"'{words}"


def test_commas_quotes_and_lines_stay_in_their_cell():
    words = 'panic: "page fault", line 1\nline 2'
    (row,) = csv.DictReader(io.StringIO(as_csv([replace(ROW, failure=words)]), newline=""))
    assert row["failure"] == words


def test_prometheus_text_has_help_type_and_escaped_labels():
    gauge = Gauge(name="bench_x", help="X.", values={(): 1, (("state", 'a"b\\c\nd'),): 2.5})
    assert exposition([gauge]).splitlines() == [
        "# HELP bench_x X.",
        "# TYPE bench_x gauge",
        "bench_x 1.0",
        r'bench_x{state="a\"b\\c\nd"} 2.5',
    ]


async def test_metrics_tell_states_queues_and_levels(farm, past):
    await past.measured(2, (1e6,))
    await past.measured(3, (2e6, 4e6))
    await past.probe(4, iterations=5)
    await past.search()
    lines = (await metrics(farm)).splitlines()
    assert 'bench_probes{state="new"} 1.0' in lines
    assert 'bench_probes{state="done"} 2.0' in lines
    assert 'bench_searches{state="running"} 1.0' in lines
    assert 'bench_testbed_queue_iterations{testbed="apu"} 5.0' in lines
    assert 'bench_culprits_judged{was="real"} 0.0' in lines
    assert 'bench_testbed_connected{testbed="apu"} 0.0' in lines
    level = 'bench_throughput{testbed="apu",unit="pps",workload="forwarding"} 3e+06'
    assert level in lines


async def test_metrics_of_a_new_farm_have_no_levels(farm):
    assert "bench_throughput{" not in await metrics(farm)


async def test_badge_says_what_the_newest_search_came_to(farm, past):
    assert await state(farm) == ("measuring", Tone.CALM)
    await past.measured(7, boots(0.8e6))
    await past.answered(ANSWER)
    assert await state(farm) == ("r7 -20.0 %", Tone.ALARM)
    await past.search()
    assert await state(farm) == ("searching", Tone.BUSY)
    await past.search(state="not-reproduced", ended_at=1.0)
    assert await state(farm) == ("no known change", Tone.CALM)
    await past.search(state="failed", ended_at=1.0)
    assert await state(farm) == ("failed", Tone.BUSY)


async def test_an_improvement_is_no_alarm(farm, past):
    await past.measured(7, boots(0.8e6))
    await past.answered(replace(ANSWER, steps=(replace(DROP, effect=0.3),)))
    assert await state(farm) == ("r7 +30.0 %", Tone.CALM)


async def test_badge_is_a_picture(farm):
    assert ET.fromstring(await badge(farm)).attrib["aria-label"] == "bench: measuring"


async def test_the_glossary_is_a_page_of_the_farm(farm):
    page = await glossary(farm)
    assert page.startswith("<!DOCTYPE html>")
    assert "<strong>relinked build</strong>" in page


def test_hostile_words_stay_words_in_the_badge():
    words = "<script>&\"'"
    picture = ET.fromstring(badge_svg("bench", words, Tone.CALM))
    assert picture.attrib["aria-label"] == f"bench: {words}"
    assert not picture.findall(".//{*}script")


async def test_a_file_of_samples_is_written_while_the_reactor_answers_others():
    reading: list[bool] = []

    class Rows(list):
        def __iter__(self):
            reading.append(isInIOThread())
            return super().__iter__()

    class Store:
        async def export(self, *_series, **_rows):
            return Rows([ROW])

    text = await written(SimpleNamespace(store=Store()))
    assert len(text.splitlines()) == 2
    assert reading == [False]


@ON_SQLITE
async def test_who_asks_at_once_or_soon_after_gets_one_answer(farm, master):
    made: list[Deferred[None]] = []

    async def text(asked) -> str:
        assert asked is farm
        made.append(Deferred())
        await made[-1]
        return f"answer {len(made)}"

    page, told = _Page(master, text, b"text/plain"), []

    def ask(times: int) -> None:
        for _ in range(times):
            asked = Deferred.fromCoroutine(page.body(DummyRequest([])))
            asked.addErrback(lambda failure: failure.type.__name__).addCallback(told.append)

    ask(10)
    made[0].callback(None)
    ask(3)
    assert (len(made), told) == (1, [b"answer 1"] * 13)
    master.reactor.advance(KEEP_S)
    ask(2)
    assert len(made) == 2
    made[1].errback(OSError("the database is away"))  # it is tried again, and not kept
    made[2].callback(None)
    assert told[13:] == ["OSError", b"answer 3"]


@pytest.mark.parametrize("services", [{}, {SERVICE_NAME: BenchService(workflow=None)}])
def test_who_asks_while_the_master_starts_is_told_to_ask_again(services):
    master = SimpleNamespace(
        service_manager=SimpleNamespace(namedServices=services), reactor=Clock()
    )
    page, request = _Page(master, metrics, b"text/plain"), DummyRequest([])
    page.render_GET(request)
    assert request.responseCode == 503
    assert request.responseHeaders.getRawHeaders("retry-after") == ["5"]
    assert b"".join(request.written) == b"the farm is starting; try again in some seconds\n"
    history = _SeriesText(master, "apu", "forwarding")
    history.render_GET(asked := DummyRequest([]))
    assert asked.responseCode == 503
