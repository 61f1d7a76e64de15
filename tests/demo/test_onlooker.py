"""What the demonstration tells of a farm: each thing once, in words."""

from collections.abc import Iterator

import pytest

from buildbot_bench.demo.scenario import Onlooker
from tests.fakes.collections import Collections

PROBE = {
    "probeid": 1,
    "label": "r4",
    "reason": "commit",
    "state": "new",
    "image_state": "wanted",
    "values": [],
    "iterations": 5,
    "unit": "",
    "failure": None,
}
DONE = {"state": "done", "image_state": "built", "values": [1e6, 2e6], "unit": "pps"}
JUDGEMENT = {
    "judgementid": 1,
    "new_sha": "0123456789abcdef",
    "state": "nothing",
    "reason": "it lies within the noise",
}
SEARCH = {
    "searchid": 3,
    "old": {"label": "r4"},
    "new": {"label": "r9"},
    "commits": 5,
    "state": "running",
}


@pytest.fixture
def farm() -> Iterator[Collections]:
    with Collections().served() as shown:
        yield shown


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def onlooker(farm, said) -> Onlooker:
    return Onlooker(farm.url, said.append)


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        ({}, "  r4 for commit: building"),
        ({"image_state": "building"}, "  r4 for commit: building"),
        ({"image_state": "built"}, "  r4 for commit: measuring 0/5"),
        ({"image_state": "built", "values": [1e6, 2e6]}, "  r4 for commit: measuring 2/5"),
        (DONE, "  r4 for commit: 1,500,000 pps (n=2)"),
        (DONE | {"reason": "search"}, "  r4 for search: 1,500,000 pps (n=2)"),
        ({"failure": "error: no such field"}, "  r4 for commit: error: no such field"),
        ({"failure": "a\x1b[2J\nb"}, "  r4 for commit: a\N{REPLACEMENT CHARACTER}[2J b"),
    ],
)
def test_a_probe_in_words(farm, onlooker, said, probe, words):
    farm.shown["probes"] = [PROBE | probe]
    onlooker.look()
    assert said == [words]


def test_a_verdict_in_words(farm, onlooker, said):
    farm.shown["judgements"] = [JUDGEMENT]
    onlooker.look()
    assert said == ["verdict on 0123456789: nothing: it lies within the noise"]


def test_a_search_in_words(farm, onlooker, said):
    farm.shown["searches"] = [SEARCH]
    onlooker.look()
    assert said == ["search 3 in (r4, r9], 5 commits: running"]


def test_the_same_is_said_once_and_a_change_anew(farm, onlooker, said):
    farm.shown["searches"] = [SEARCH]
    onlooker.look()
    onlooker.look()
    farm.shown["searches"] = [SEARCH | {"state": "found"}]
    onlooker.look()
    assert [line.rsplit(": ")[-1] for line in said] == ["running", "found"]


def test_the_oldest_is_said_first(farm, onlooker, said):
    farm.shown["probes"] = [
        PROBE | {"probeid": 2, "label": "r5"},
        PROBE | {"probeid": 1, "label": "r4"},
    ]
    onlooker.look()
    assert [line.split()[0] for line in said] == ["r4", "r5"]


def test_a_master_that_is_busy_or_away_is_asked_again_the_next_time(farm, onlooker, said):
    farm.shown["searches"] = [SEARCH]
    farm.away = True
    onlooker.look()
    assert said == []
    farm.away = False
    onlooker.look()
    assert len(said) == 1


def test_a_farm_that_does_not_listen_is_no_error(said):
    Onlooker("http://127.0.0.1:1/", said.append).look()
    assert said == []


def test_a_revision_is_measured_when_all_its_iterations_are_there(farm, onlooker):
    farm.shown["probes"] = [PROBE | {"image_state": "built", "values": [1e6]}]
    assert not onlooker.measured("r4")
    farm.shown["probes"] = [PROBE | DONE]
    assert onlooker.measured("r4")
    assert not onlooker.measured("r5")


def test_a_revision_that_could_not_be_measured_is_not_measured(farm, onlooker):
    farm.shown["probes"] = [PROBE | {"state": "done", "failure": "panic"}]
    assert not onlooker.measured("r4")


def test_a_revision_stays_measured_when_newer_probes_push_it_off_the_list(farm, onlooker):
    farm.shown["probes"] = [PROBE | DONE]
    onlooker.look()
    farm.shown["probes"] = []
    assert onlooker.measured("r4")
