"""What a farm's condition is worth telling a person, and how grave it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.condition import (
    Hang,
    OpenPort,
    Severity,
    of_boots,
    of_broker,
    of_clock,
    of_database,
    of_disk,
    of_doubled_number,
    of_hangs,
    of_master,
    of_message,
    of_one_master,
    of_port,
    of_quarantine,
    of_standing_work,
    of_worker,
)

GIB, HOUR_S, DAY_S = 1024**3, 3600.0, 86400.0
NOW_S = 1e9


def mail(age_s, *, given_up=False):
    return of_message("mail 1", age_s, "451 later", given_up=given_up)


def port(of, *, is_local=False, is_encrypted=False):
    one = OpenPort(of=of, port="tcp:9989", is_local=is_local, is_encrypted=is_encrypted)
    return of_port(one)


def worker(*, connected=True, version="4.3.1"):
    return of_worker("w", connected=connected, version=version, buildbot="4.3.0")


@pytest.mark.parametrize(
    ("found", "severity", "part"),
    [
        (of_database("it does not answer", "x"), "error", "database"),
        (of_master(runs=False), "error", "master"),
        (of_broker(runs=False), "error", "masters"),
        (of_one_master("m", alive=False, trouble=""), "warning", "masters"),
        (of_one_master("m", alive=True, trouble="no router"), "error", "masters"),
        (of_disk("/", free=GIB // 2, total=GIB), "error", "disk"),
        (of_disk("/", free=4 * GIB, total=100 * GIB), "warning", "disk"),
        (of_clock("the database", 61), "error", "clock"),
        (of_clock("the database", 6), "warning", "clock"),
        (worker(connected=False), "error", "workers"),
        (worker(version="3.11"), "warning", "workers"),
        (of_boots(25 * HOUR_S, 3), "error", "boots"),
        (of_boots(8 * DAY_S, 0), "warning", "boots"),
        (of_boots(None, 3), "warning", "boots"),
        (of_standing_work("build 3", HOUR_S), "error", "work"),
        (mail(2 * HOUR_S), "warning", "outbox"),
        (mail(25 * HOUR_S), "error", "outbox"),
        (mail(0, given_up=True), "warning", "outbox"),
        (of_quarantine("apu", HOUR_S, "off"), "warning", "testbeds"),
        (port("workers"), "warning", "ports"),
        (port("pages"), "warning", "ports"),
    ],
)
def test_each_trouble_is_told_once_with_the_next_thing_to_do(found, severity, part):
    (one,) = found
    assert (one.severity, one.part) == (severity, part)
    assert one.problem
    assert one.next


@pytest.mark.parametrize(
    "found",
    [
        of_master(runs=True),
        of_broker(runs=True),
        of_one_master("m", alive=True, trouble=""),
        of_disk("/farm", free=50 * GIB, total=100 * GIB),
        of_clock("the lab of apu", 0.2),
        worker(),
        worker(version=""),
        of_boots(HOUR_S, 3),
        of_boots(25 * HOUR_S, 0),
        of_boots(None, 0),
        mail(HOUR_S / 2),
        port("workers", is_local=True),
        port("pages", is_encrypted=True),
    ],
)
def test_what_is_usual_is_not_told(found):
    assert list(found) == []


def test_a_master_that_hung_is_told_for_a_week_with_how_often():
    ages_s = (8 * DAY_S, 2 * DAY_S, 600.0)
    hung = [
        Hang(at_s=NOW_S - age_s, what="did not answer for 60 s", path=f"/farm/{age_s:.0f}.txt")
        for age_s in ages_s
    ]
    (finding,) = of_hangs(hung, NOW_S)
    assert (finding.severity, finding.part) == (Severity.WARNING, "master")
    assert finding.problem == ("10 min ago it did not answer for 60 s; so it was 2 times this week")
    assert "/farm/600.txt" in finding.next
    assert list(of_hangs(hung[:1], NOW_S)) == []


def test_numbers_that_several_commits_claim_are_told_with_what_to_do():
    line = "r30 is claimed by 2 commits of main, a, b: it means the oldest, a; correct the notes"
    (one,) = of_doubled_number(line)
    assert (one.severity, one.part, one.next) == ("warning", "repository", "correct the notes")
    assert one.problem == line.partition(";")[0]


def grave(found) -> int:
    return sum(2 if one.severity is Severity.ERROR else 1 for one in found)


@given(free=st.integers(0, 10**14), seconds=st.floats(0, 1e8), waiting=st.integers(0, 9))
def test_more_trouble_is_never_less_grave(free, seconds, waiting):
    total = 10**14
    assert grave(of_disk("/", free=free // 2, total=total)) >= grave(
        of_disk("/", free=free, total=total)
    )
    for found in (lambda s: of_clock("it", s), lambda s: of_boots(s, waiting), mail):
        assert grave(found(2 * seconds)) >= grave(found(seconds))
