"""A series as the chart gets it, and what is said of one of its commits."""

import gzip
import json

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.pages.histories import Histories
from buildbot_bench.plugin.queries.commit_views import commit_in_search, measured_commit
from buildbot_bench.plugin.queries.history import series_list
from tests.fakes.past import TESTBED, WORKLOAD, boots

pytestmark = pytest.mark.both_databases

ARRAYS = ("positions", "labels", "means", "lows", "highs", "counts")
DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


@pytest.fixture
def shown(farm):
    """The series as it is now."""
    histories = Histories()

    async def show(cost=""):
        told = await histories.read(farm, TESTBED, WORKLOAD, cost=cost)
        (view,) = json.loads(gzip.decompress(told.compressed))["views"]
        return view

    return show


async def test_series_are_what_the_workflow_measures(farm):
    assert await series_list(farm) == [
        {"branch": "main", "testbed": "apu", "workload": "forwarding"}
    ]


async def test_what_was_never_measured_is_empty_arrays(shown):
    series = await shown()
    assert [series[name] for name in ARRAYS] == [[]] * len(ARRAYS)
    assert (series["bands"], series["marks"], series["unit"]) == ([], [], "pps")


async def test_a_revision_is_one_point_whatever_its_images(shown, past):
    await past.measured(3, (1_000_000, 1_100_000))
    await past.measured(await past.image(3, ordinal=1), (900_000,))
    await past.measured(2, (2_000_000,))
    series = await shown()
    assert [series[name] for name in ARRAYS] == [
        [2, 3],
        ["r2", "r3"],
        [2_000_000, 1_000_000],
        [2_000_000, 900_000],
        [2_000_000, 1_100_000],
        [1, 3],
    ]


async def test_what_commits_cost_is_a_series_beside_that_is_neither_judged_nor_marked(shown, past):
    for position in range(2, 9):
        kernel = {"text_bytes": 20_000_000 + position, "data_bytes": 1000, "build_s": 99.5}
        probe = await past.measured(await past.image(position, **kernel), (1e6,))
        await past.add(probe, 0, 30.0 + position, unit="s to boot")
    await past.image(9, ordinal=1, text_bytes=3, data_bytes=4, bss_bytes=99)
    await past.image(9, text_bytes=5, data_bytes=4, build_s=None)
    await past.measured(await past.image(3, sha="f" * 40, text_bytes=1, data_bytes=1), (1e6,))
    await past.commits(3)
    await past.judgement(4, 5, state="regression", effect=-0.1)
    size, build, boot = [await shown(cost) for cost in ("size", "build", "boot")]
    assert [size["unit"], build["unit"], boot["unit"]] == ["bytes", "s to build", "s to boot"]
    assert size["positions"] == list(range(2, 10))
    assert size["means"][:2] == [20_001_002, 20_001_003]
    assert [size[name][-1] for name in ("means", "lows", "highs", "counts")] == [8, 7, 9, 2]
    assert (build["positions"], build["means"]) == (list(range(2, 9)), [99.5] * 7)
    assert boot["means"] == [32.0 + n for n in range(7)]
    assert [one["marks"] + one["bands"] for one in (size, build, boot)] == [[], [], []]
    own = await shown()
    assert (own["unit"], own["means"][0], len(own["marks"])) == ("pps", 1e6, 1)


async def test_small_figures_keep_their_decimals(shown, past):
    await past.measured(3, (1.25,))
    assert (await shown())["means"] == [1.25]


async def test_failures_secondary_units_and_tunables_are_no_points(shown, past):
    probe = await past.measured(3, (1e6,))
    await past.add(probe, 0, 17.0, unit="packets/CPU-s")
    await past.add(probe, 1, None)
    series = await shown()
    assert (series["unit"], series["means"], series["counts"]) == ("pps", [1e6], [1])


async def test_only_the_unit_that_was_measured_last_is_shown(shown, past):
    await past.measured(2, (1e6,))
    await past.measured(3, (5.0,), unit="packets/CPU-s")
    series = await shown()
    assert (series["positions"], series["unit"]) == ([3], "packets/CPU-s")


async def test_a_new_epoch_is_told_by_its_first_revision(shown, past):
    await past.measured(2, (1e6,), epoch="1")
    await past.measured(3, (1e6,), epoch="2")
    await past.measured(4, (1e6,), epoch="2")
    assert (await shown())["epochs"] == [3]


async def test_commits_that_another_displaced_are_history_no_more(shown, past):
    await past.commits(2, 3)
    await past.measured(await past.image(3, sha="f" * 40), (1e6,))
    await past.measured(2, (1e6,))
    assert (await shown())["positions"] == [2]


async def test_culprits_and_alarms_are_marked_and_a_culprit_is_no_alarm_as_well(shown, past):
    await past.measured(3, boots(1e6))
    search = await past.answered(ANSWER)
    await past.judgement(2, 3, state="improvement", effect=0.1)
    await past.judgement(6, 7, state="regression", effect=-0.2)
    await past.judgement(8, 9, state="nothing")
    marks = (await shown())["marks"]
    assert [(m["kind"], m["position"], m["effect"], m["searchid"]) for m in marks] == [
        ("alarm", 3, 0.1, None),
        ("culprit", 7, -0.2, search.id),
    ]
    assert marks[0]["label"] == "r3"


async def test_the_last_word_of_a_person_stands_with_the_change(shown, past, farm):
    await past.measured(3, boots(1e6))
    search = await past.answered(ANSWER)
    verdict = await past.judgement(2, 3, state="regression", effect=-0.1)
    for kind in ("noise", "expected"):
        await farm.store.add_mark(kind=kind, author="ann", now=1.0, judgement_id=verdict.id)
    fix = farm.history.resolve("r9")
    said = {"kind": "fixed", "author": "bob", "now": 1.0, "fix": fix}
    await farm.store.add_mark(**said, search_id=search.id)
    marks = (await shown())["marks"]
    assert [(m["position"], m["said"], m["by"]) for m in marks] == [
        (3, "expected", "ann"),
        (7, "fixed by r9", "bob"),
    ]
    await farm.store.add_mark(kind="withdrawn", author="ann", now=2.0, judgement_id=verdict.id)
    assert [m["said"] for m in (await shown())["marks"]] == ["", "fixed by r9"]


async def test_one_commit_is_named_with_all_its_values(farm, past):
    await past.measured(3, (1e6, 2e6))
    told = await measured_commit(farm, TESTBED, WORKLOAD, 3, "main")
    assert (told["label"], told["subject"]) == ("r3", "Change 3")
    assert told["author"] == "A Committer <committer@example.org>"
    assert told["samples"] == [{"image": 0, "epoch": "", "values": [1e6, 2e6]}]
    assert (told["unit"], told["image_state"], told["failure"]) == ("pps", "built", None)


async def test_a_commit_that_was_never_built_is_nothing(farm):
    assert await measured_commit(farm, TESTBED, WORKLOAD, 3, "main") is None


async def test_a_commit_that_the_mirror_lost_keeps_its_name(farm, past):
    await past.measured(await past.image(3, sha="f" * 40), (1e6,))
    told = await measured_commit(farm, TESTBED, WORKLOAD, 3, "main")
    assert (told["label"], "subject" in told) == ("r3", False)


async def test_a_searched_commit_is_counted_from_the_old_end(farm, past):
    search = await past.search(2, 9)
    await past.image(5, state="untestable", reason="panic: page fault")
    told = await commit_in_search(farm, search.id, 3)
    assert (told["label"], told["image_state"]) == ("r5", "untestable")
    assert told["failure"] == "panic: page fault"
    assert (await commit_in_search(farm, search.id, 7))["label"] == "r9"


@pytest.mark.parametrize(("number", "offset"), [(1, 8), (17, 0)])
async def test_outside_of_a_search_there_is_no_commit(farm, past, number, offset):
    await past.search(2, 9)
    assert await commit_in_search(farm, number, offset) is None
