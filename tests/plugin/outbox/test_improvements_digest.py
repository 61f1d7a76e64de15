"""The digest: an improvement waits a week, then one mail tells of all that there are, once."""

from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.triggers import DAY_S, WEEK_S
from buildbot_bench.plugin.db.columns import ReportState
from buildbot_bench.plugin.db.finding_rows import ReportRow
from buildbot_bench.plugin.db.schema import REPORT
from buildbot_bench.plugin.outbox.search_mails import (
    write_digest,
    write_search_mail,
    write_undecided,
)
from tests.fakes.database import rows_of
from tests.fakes.past import boots

RISE = Step(old=5, new=6, effect=0.2, low=0.19, high=0.21, probability=0.999)
ANSWER = Answer(steps=(RISE,), reproduced=True, unresolved=(), reason="located")


@pytest.fixture
def improved(past, farm):
    """Withholds the report of a search that found an improvement."""

    async def improve():
        search = await past.answered(ANSWER)
        return await farm.store.add_mail(
            f"search:{search.id}",
            message_id=f"<{search.id}@example.org>",
            subject="better",
            recipients=["net@example.org"],
            message=b"",
            now=farm.now(),
            state=ReportState.WITHHELD,
        )

    return improve


async def states(farm) -> list[str]:
    searches = sorted(await farm.store.searches(), key=lambda search: search.id)
    rows = [await farm.store.report_of_search(search.id) for search in searches]
    return [str(row.state) for row in rows]


async def test_an_improvement_waits_for_a_week(improved, farm, master):
    await improved()
    master.reactor.advance(WEEK_S - 1)
    await write_digest(farm, farm.workflow.mail)
    assert await states(farm) == ["withheld"]


async def test_the_last_of_them_carries_the_mail_about_all(improved, past, farm, master):
    await past.commits(*range(1, 12))
    for position, level in {6: 1e6, 7: 1.2e6}.items():
        await past.measured(position, boots(level), reason="search")
    await improved()
    master.reactor.advance(WEEK_S)
    last = await improved()
    await write_digest(farm, farm.workflow.mail)
    assert await states(farm) == ["digested", "new"]
    (row,) = await rows_of(farm.store, REPORT, ReportRow, id=last.id)
    message = message_from_bytes(row.message, policy=policy.default)
    assert message["Subject"].startswith("[bench] 2 improvements: r7 ")
    assert message["Message-ID"] == row.message_id != last.message_id
    assert message.get_body(("plain",)).get_content().count("20.0 % faster") == 2
    assert row in await farm.store.due_reports(farm.now())


async def test_nothing_is_told_twice(improved, farm, master):
    await improved()
    master.reactor.advance(WEEK_S)
    await write_digest(farm, farm.workflow.mail)
    (due,) = await farm.store.due_reports(farm.now())
    await write_digest(farm, farm.workflow.mail)
    assert await farm.store.due_reports(farm.now()) == [due]
    await improved()
    await write_digest(farm, farm.workflow.mail)
    assert await states(farm) == ["new", "withheld"]


async def test_an_improvement_whose_range_is_gone_holds_up_no_other(improved, farm, master):
    await improved()
    (search,) = await farm.store.searches()
    await farm.store.change(search, old_sha="0" * 40)
    master.reactor.advance(WEEK_S)
    await write_digest(farm, farm.workflow.mail)
    assert await states(farm) == ["digested"]


async def test_of_two_masters_one_writes_the_digest(improved, farm):
    rows = [await improved(), await improved()]
    mail = {"message_id": "<1@x>", "subject": "s", "recipients": ["a@x"], "message": b"m"}
    assert await farm.store.digest_reports(rows, **mail, now=5.0)
    assert not await farm.store.digest_reports(rows, **mail, now=6.0)
    assert await states(farm) == ["digested", "new"]


async def test_a_digest_changes_all_its_reports_or_none(improved, farm):
    rows = [await improved(), await improved()]
    await farm.store.change(rows[0], last_error="seen by another")
    mail = {"message_id": "<1@x>", "subject": "s", "recipients": ["a@x"], "message": b"m"}
    assert not await farm.store.digest_reports(rows, **mail, now=5.0)
    assert await states(farm) == ["withheld", "withheld"]


MONDAY_EIGHT = 1_800_000_000.0 + 3 * DAY_S  # the fake master's clock begins on a Friday at 8:00


@pytest.fixture
def on_mondays(farm, reconfigure, master):
    """The digest is sent on Mondays at eight."""
    reconfigure(farm, ("\nmail:", "\nnotify: {digest: {day: monday, at: '08:00'}}\n\nmail:"))
    assert master.reactor.seconds() == MONDAY_EIGHT - 3 * DAY_S
    return farm


async def test_a_digest_is_sent_at_the_time_that_bench_yml_says(improved, on_mondays, master):
    await improved()
    master.reactor.advance(3 * DAY_S - 1)
    await write_digest(on_mondays, on_mondays.workflow.mail)
    assert await states(on_mondays) == ["withheld"]
    master.reactor.advance(1)
    await write_digest(on_mondays, on_mondays.workflow.mail)
    assert await states(on_mondays) == ["new"]


async def test_what_comes_behind_that_time_waits_for_the_next_week(improved, on_mondays, master):
    master.reactor.advance(3 * DAY_S + 1)
    await improved()
    master.reactor.advance(WEEK_S - 2)
    await write_digest(on_mondays, on_mondays.workflow.mail)
    assert await states(on_mondays) == ["withheld"]
    master.reactor.advance(1)
    await write_digest(on_mondays, on_mondays.workflow.mail)
    assert await states(on_mondays) == ["new"]


async def test_without_news_no_digest_is_sent(on_mondays, master):
    master.reactor.advance(5 * WEEK_S)
    await write_undecided(on_mondays, on_mondays.workflow.mail)
    await write_digest(on_mondays, on_mondays.workflow.mail)
    assert await rows_of(on_mondays.store, REPORT, ReportRow) == []


OPEN = Answer(steps=(), reproduced=True, unresolved=((5, 7),), reason="two suspects are left")
NONE = Answer(steps=(), reproduced=False, unresolved=(), reason="the ends do not differ")
BETTER = {"reason": "alarm", "claimed": 0.2}


@pytest.mark.parametrize(
    ("answer", "state"),
    [(OPEN, "inconclusive"), (NONE, "not-reproduced")],
)
async def test_what_was_left_undecided_is_told_in_the_digest(past, farm, master, answer, state):
    await past.answered(answer, state, **BETTER)
    await write_undecided(farm, farm.workflow.mail)
    await write_undecided(farm, farm.workflow.mail)
    assert await states(farm) == ["withheld"]
    master.reactor.advance(WEEK_S)
    await write_digest(farm, farm.workflow.mail)
    (row,) = await farm.store.due_reports(farm.now())
    message = message_from_bytes(row.message, policy=policy.default)
    assert message["Subject"] == "[bench] 1 improvement: no culprit yet"
    text = message.get_body(("plain",)).get_content()
    assert "found no improvement" in text
    assert "Undecided:" in text
    assert "search 1" in text


async def test_an_undecided_regression_and_one_that_a_person_asked_for_are_not_told(past, farm):
    await past.answered(OPEN, "inconclusive", reason="alarm", claimed=-0.2)
    await past.answered(OPEN, "inconclusive", claimed=0.2)
    await write_undecided(farm, farm.workflow.mail)
    assert await rows_of(farm.store, REPORT, ReportRow) == []


async def test_a_failed_search_for_an_improvement_wakes_nobody(past, farm, master):
    search = await past.search(**BETTER, state="failed", detail="away", ended_at=farm.now())
    await write_search_mail(farm, farm.workflow.mail, search)
    assert await states(farm) == ["withheld"]
    master.reactor.advance(WEEK_S)
    await write_digest(farm, farm.workflow.mail)
    assert await states(farm) == ["new"]


async def test_what_was_marked_as_noise_is_no_improvement(improved, farm, master):
    await improved()
    await farm.store.add_mark(search_id=1, kind="noise", author="ann", now=farm.now())
    master.reactor.advance(WEEK_S)
    await write_digest(farm, farm.workflow.mail)
    assert await states(farm) == ["digested"]
