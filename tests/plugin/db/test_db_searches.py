"""Comparisons, searches and reports: each known by one key, each changed by one at a time."""

from dataclasses import replace
from functools import partial

import pytest

from buildbot_bench.core.json_model import shared
from buildbot_bench.core.search import Answer, OddImage, Slope, SlopePart
from buildbot_bench.plugin.db.finding_rows import NewJudgement, ReportRow, VerdictGrounds
from buildbot_bench.plugin.db.schema import REPORT
from tests.fakes.database import rows_of, sha

GROUNDS = VerdictGrounds(image=1, probes=(4, 5), reason="it fell")
PART = SlopePart(old=1, new=4, effect=-0.03, low=-0.04, high=-0.02)
ANSWER = Answer(
    steps=(),
    reproduced=False,
    unresolved=((2, 4),),
    reason="the ends do not differ",
    slopes=(Slope(whole=PART, parts=(PART,)),),
    left_out=0.01,
    odd_images=(OddImage(position=2, image=1, effect=0.05),),
)


@pytest.fixture
def a_judgement(store):
    async def make(**columns):
        values = {
            "testbed": "apu", "workload": "forwarding", "unit": "pps", "old_sha": sha(10),
            "old_position": 10, "new_sha": sha(11), "new_position": 11, "state": "suspicion",
            "effect": -0.256, "verdict": GROUNDS,
        }  # fmt: skip
        return await store.ensure_judgement(NewJudgement(**values | columns), now=3.0)

    return make


@pytest.fixture
def a_report(store):
    async def make(search, **columns):
        values = {
            "message_id": "<1@bench>", "subject": "r311849", "recipients": ("a@x", "b@x"),
            "message": b"Subject: r311849\r\n\r\n\xff\0", "now": 5.0,
        }  # fmt: skip
        return await store.add_mail(f"search:{search.id}", **values | columns)

    return make


async def test_two_revisions_are_compared_once_on_a_testbed_and_workload(store, a_judgement):
    first = await a_judgement()
    assert await a_judgement(state="nothing", effect=0.0) == first
    assert (await a_judgement(workload="pf-statefull")).id != first.id
    assert first.verdict == first.grounds == GROUNDS
    assert await store.judgement(first.id) == first


async def test_a_suspicion_becomes_a_regression_once(store, a_judgement, a_search):
    suspicion = await a_judgement()
    search = await a_search()
    changes = {"state": "regression", "rounds": 1, "search_id": search.id}
    alarm = await store.change(suspicion, changed_at=4.0, **changes)
    assert (alarm.state, alarm.rounds, alarm.changed_at) == ("regression", 1, 4.0)
    assert await store.change(suspicion, changed_at=5.0, **changes) is None


async def test_the_values_of_a_commit_are_kept_and_changed_together(store, a_judgement):
    known = await a_judgement(value="b", unit="s")
    blank = replace(NewJudgement(**shared(NewJudgement, known)), state="nothing", value="")
    rows = await store.ensure_judgements(blank, {"a": "ns", "b": "ns", "c": "ns"}, now=4.0)
    assert rows["b"] == known
    assert {name: (row.unit, row.state) for name, row in rows.items()} == {
        "a": ("ns", "nothing"),
        "b": ("s", "suspicion"),
        "c": ("ns", "nothing"),
    }
    quicker = await store.change(rows["c"], changed_at=5.0, rounds=3)
    await store.change_all([(row, {"changed_at": 6.0, "rounds": 1}) for row in rows.values()])
    now = [await store.judgement(rows[name].id) for name in "abc"]
    assert [(row.rounds, row.changed_at) for row in now] == [(1, 6.0), (1, 6.0), (3, 5.0)]
    assert now[-1] == quicker


async def test_judgements_are_found_by_state(store, a_judgement):
    first = await a_judgement()
    second = await a_judgement(old_sha=sha(9), old_position=9, state="nothing")
    assert await store.judgements() == [second, first]
    assert await store.judgements(state="suspicion") == [first]


async def test_the_same_alarm_starts_one_search(store, a_search):
    first = await a_search(claimed=-0.25, forecast={"images": 11})
    assert await a_search(now=9.0) == first
    assert (first.state, first.claimed, first.forecast) == ("running", -0.25, {"images": 11})
    assert await store.search_by_key("alarm:1") == first


async def test_searches_without_a_key_are_each_their_own(store, a_search):
    first, second = await a_search(key=None), await a_search(key=None)
    assert first.id != second.id
    assert await store.search(second.id) == second


async def test_searches_are_listed_by_state_newest_first(store, a_search):
    first, second, third = [await a_search(key=str(n)) for n in range(3)]
    found = await store.change(second, state="found", answer=ANSWER, ended_at=9.0)
    assert found.answer == ANSWER
    assert await store.searches() == [third, found, first]
    assert await store.searches(states=("running", "cancelling")) == [third, first]
    assert await store.searches(states={"found"}, limit=1) == [found]
    assert await store.searches(limit=1) == [third]


async def test_only_one_master_ends_a_search(store, a_search):
    search = await a_search()
    assert await store.change(search, state="cancelling")
    assert await store.change(search, state="found") is None
    assert (await store.search(search.id)).state == "cancelling"


async def test_searches_over_a_range_share_a_suspect_with_it(store, a_search):
    search = await a_search()
    over = partial(store.searches_over, repository="")
    assert await over(("apu", "forwarding"), 19, 25) == [search]
    assert await over(("apu", "forwarding"), 20, 25) == []
    assert await over(("apu", "forwarding"), 1, 10) == []
    assert await over(("apu", "pf-statefull"), 10, 20) == []


async def test_a_search_has_one_report_written_once(store, a_search, a_report):
    search = await a_search()
    first = await a_report(search)
    assert await a_report(search, subject="another") == first
    assert first.recipients == ["a@x", "b@x"]
    assert first.message == b"Subject: r311849\r\n\r\n\xff\0"
    assert await store.report_of_search(search.id) == first
    assert await rows_of(store, REPORT, ReportRow) == [first]


async def test_a_mail_is_owed_for_what_was_found_and_not_yet_written(store, a_search, a_report):
    owed, written, _running = [await a_search(key=key) for key in "abc"]
    owed = await store.change(owed, state="found")
    await store.change(written, state="found")
    await a_report(written)
    await store.change(await a_search(key="d"), state="inconclusive")
    failed = await store.change(await a_search(key="e"), state="failed")
    assert await store.unreported_searches() == [owed, failed]


async def test_a_report_is_due_until_it_is_sent_or_refused(store, a_search, a_report):
    states = {"new": True, "sending": True, "sent": False, "refused": False}
    for state, is_due in states.items():
        report = await a_report(await a_search(key=state))
        changed = await store.change(report, state=state, attempts=1, next_try_at=100.0)
        assert (changed in await store.due_reports(100.0)) is is_due
    assert await store.due_reports(99.0) == []


async def test_two_masters_do_not_send_the_same_report(store, a_search, a_report):
    report = await a_report(await a_search())
    assert await store.change(report, state="sending", next_try_at=60.0)
    assert await store.change(report, state="sending", next_try_at=60.0) is None
    assert await store.due_reports(5.0) == []
