"""What people said of reports and verdicts: kept beside each other, the last word counts."""

import pytest

from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.finding_rows import NewJudgement


@pytest.fixture
def a_verdict(store):
    async def make(**columns):
        values = {
            "testbed": "apu",
            "workload": "forwarding",
            "unit": "pps",
            "old_sha": "a" * 40,
            "old_position": 1,
            "new_sha": "b" * 40,
            "new_position": 2,
            "state": "regression",
        }
        return await store.ensure_judgement(NewJudgement(**values | columns), now=1.0)

    return make


async def test_a_mark_says_who_when_and_what(store, a_search):
    search = await a_search()
    fix = Revision(sha="c" * 40, position=30, svn=30)
    mark = await store.add_mark(search_id=search.id, kind="fixed", author="ann", now=5.0, fix=fix)
    assert (mark.kind, mark.author, mark.at_s, mark.fixed_label) == ("fixed", "ann", 5.0, "r30")
    assert await store.marks_of_search(search.id) == [mark]


async def test_the_last_word_counts_and_the_earlier_ones_stay(store, a_search, a_verdict):
    search, verdict = await a_search(), await a_verdict()
    for kind in ("noise", "expected"):
        await store.add_mark(search_id=search.id, kind=kind, author="ann", now=1.0)
    await store.add_mark(judgement_id=verdict.id, kind="noise", author="bob", now=2.0)
    assert len(await store.marks_of_search(search.id)) == 2
    newest = await store.newest_marks()
    assert [(mark.search_id, mark.judgement_id, mark.kind) for mark in newest] == [
        (search.id, None, "expected"),
        (None, verdict.id, "noise"),
    ]


async def test_only_reports_that_named_a_culprit_say_how_often_the_robot_is_right(store, a_search):
    for serial, (state, kind) in enumerate(
        [("found", "expected"), ("found", "noise"), ("found", "fixed"), ("failed", "noise")]
    ):
        search = await a_search(key=f"alarm:{serial}")
        await store.change(search, state=state)
        await store.add_mark(search_id=search.id, kind=kind, author="ann", now=1.0)
    assert await store.opinions() == {"expected": 1, "noise": 1, "fixed": 1}


@pytest.mark.parametrize("kind", ["again", "noise", "expected", "withdrawn"])
async def test_what_bears_on_the_farm_is_pending_until_it_is_seen_to(store, a_search, kind):
    search = await a_search()
    mark = await store.add_mark(search_id=search.id, kind=kind, author="ann", now=1.0)
    await store.add_mark(search_id=search.id, kind="fixed", author="ann", now=2.0)
    assert await store.pending_marks() == [mark]
    assert await store.change(mark, pending=False)
    assert await store.change(mark, pending=False) is None
    assert await store.pending_marks() == []
