"""When a line of cron was due last: against a slow reading of the rules, and Buildbot's library."""

from datetime import UTC, datetime, timedelta

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.triggers import CronLine, parse_cron

MINUTE_S = 60


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("line", "now", "due"),
    [
        ("0 3 * * *", "2026-05-05T03:00:00", "2026-05-05T03:00"),
        ("0 3 * * *", "2026-05-05T02:59:59", "2026-05-04T03:00"),
        ("*/15 * * * *", "2026-05-05T02:59:59", "2026-05-05T02:45"),
        ("5/20 * * * *", "2026-05-05T02:59:59", "2026-05-05T02:45"),
        ("0 3 * * MON", "2026-05-05T02:00", "2026-05-04T03:00"),
        ("0 3 * * sun", "2026-05-05T02:00", "2026-05-03T03:00"),
        ("30 4 1,15 * 5", "2026-05-05T02:00", "2026-05-01T04:30"),
        ("0 0 29 2 *", "2103-05-05T02:00", "2096-02-29T00:00"),
        ("0 0 31 JAN-MAR *", "2026-05-05T02:00", "2026-03-31T00:00"),
        ("0  22-23/1 * * 1-5", "2026-05-03T12:00", "2026-05-01T23:00"),
    ],
)
def test_examples(line: str, now: str, due: str) -> None:
    assert parse_cron(line).last_due(at(now)) == at(due)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "should be five fields, minute, hour, day, month and weekday in UTC, not ''"),
        ("0 3 * *", "should be five fields"),
        ("0 0 3 * * *", "should be five fields"),
        ("@daily", "'@daily' is no cron line here; write '0 3 \\* \\* \\*'"),
        ("60 * * * *", "'60' is no minute; 0 to 59"),
        ("* 24 * * *", "'24' is no hour; 0 to 23"),
        ("* * 0 * *", "'0' is no day of the month; 1 to 31"),
        ("* * * 13 *", "'13' is no month; 1 to 12 or JAN to DEC"),
        ("* * * * 7", "'7' is no day of the week; 0 to 6 or SUN to SAT"),
        ("* * * * L", "'L' is no day of the week"),
        ("*/0 * * * *", "has a step of 0"),
        ("5-2 * * * *", "the minute '5-2' goes backwards"),
        ("1,,2 * * * *", "'' is no minute; 0 to 59"),
        ("0 0 30 2 *", "is never due: no year has such a day"),
        ("0 0 31 4,6 *", "is never due"),
        ("² * * * *", "is no minute"),
        ("1" * 300, "should be five fields"),
    ],
)
def test_mistakes(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_cron(line)


def field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    two = st.lists(number, min_size=2, max_size=2, unique=True)
    span = two.map(lambda two: f"{min(two)}-{max(two)}")
    step = st.tuples(span, st.integers(1, 9)).map(lambda two: f"{two[0]}/{two[1]}")
    part = st.one_of(number.map(str), span, step)
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


LINES = st.tuples(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6)).map(" ".join)
TIMES = st.integers(int(at("2020-01-01")), int(at("2030-01-01")))


@given(LINES, TIMES)
def test_nothing_lies_between_the_last_time_and_now(text: str, now_s: int) -> None:
    line = parse_cron(text)
    due_s = line.last_due(now_s)
    assert due_s <= now_s
    assert is_due(line, due_s)
    first = int(due_s) // MINUTE_S + 1
    some = range(first, min(first + 3000, now_s // MINUTE_S + 1))
    assert not any(is_due(line, minute * MINUTE_S) for minute in some)


def is_due(line: CronLine, at_s: float) -> bool:
    when = datetime.fromtimestamp(at_s, UTC)
    return when.minute in line.minutes and when.hour in line.hours and line.takes(when.date())


@given(LINES, TIMES)
def test_buildbots_library_agrees(text: str, now_s: int) -> None:
    """But for all days of the week written as a range, which it takes for `*`."""
    line = parse_cron(text)
    if line.either_day and len(line.weekdays) == len("SMTWTFS"):
        return
    now = datetime.fromtimestamp(now_s, UTC) + timedelta(seconds=1)
    assert line.last_due(now_s) == croniter(text, now).get_prev(float)


@given(st.text(alphabet="0123456789*,-/ @LWSUNMONjan#?\n²", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        line = parse_cron(text)
    except UsageError:
        return
    assert line.last_due(at("2026-01-01")) <= at("2026-01-01")
