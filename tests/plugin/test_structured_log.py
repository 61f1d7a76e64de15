"""The structured log: one JSON object a line, with the ids of what it is about."""

import json
import stat

import pytest
from twisted.logger import Logger

from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.service import NAME, PRIVATE, StructuredLog

OURS = Logger(namespace="buildbot_bench.plugin.broker.collect")


@pytest.fixture
def journal(tmp_path):
    journal = StructuredLog(tmp_path)
    journal.start()
    yield journal
    journal.stop()


def lines(directory):
    return [json.loads(line) for line in (directory / NAME).read_text().splitlines()]


def test_a_line_has_the_message_and_the_ids(journal, tmp_path):
    OURS.info("bench: probe {probe} of search {search} ended", probe=7, search=3, value=1.5)
    Logger(namespace="buildbot.master").info("not ours")
    (line,) = lines(tmp_path)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "module": "plugin.broker.collect",
        "message": "bench: probe 7 of search 3 ended",
        "probe": 7,
        "search": 3,
        "value": 1.5,
    }


def test_a_failure_is_told_with_its_traceback(journal, tmp_path):
    try:
        int("no such kernel")
    except ValueError:
        OURS.failure("bench: search {search} failed", search=3)
    (line,) = lines(tmp_path)
    assert (line["level"], line["search"]) == ("critical", 3)
    assert "no such kernel" in line["failure"]


def test_what_strangers_wrote_stays_one_bounded_line(journal, tmp_path):
    hostile = 'panic: {probe}\n{"level": "forged"}\ud800' + "x" * 100_000
    OURS.warn("bench: {label}: {effect}", label=hostile, effect=float("nan"))
    (line,) = lines(tmp_path)
    assert line["level"] == "warn"
    assert line["effect"] == "nan"
    assert len(line["label"]) < 10_000


def test_only_the_farm_reads_it(journal, tmp_path):
    OURS.info("bench: started")
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == PRIVATE


async def test_the_states_of_a_search_and_its_probes_are_told_with_their_numbers(
    journal, farm, past, tmp_path
):
    search = await past.search()
    await Searching(farm).advance()
    (probe,) = await farm.store.probes_of_search(search.id)
    await farm.store.change(probe, state="issued", brid=12)
    await farm.store.change(search, state="failed", detail="the range\nis gone")
    told = {(line["kind"], line["state"]): line for line in lines(tmp_path) if line.get("kind")}
    issued = told["probe", "issued"]
    assert (issued["probe"], issued["search"], issued["testbed"]) == (probe.id, search.id, "apu")
    assert issued["message"] == f"bench: probe {probe.id} is issued"
    failed = told["search", "failed"]
    assert (failed["search"], failed["because"]) == (search.id, "the range is gone")
