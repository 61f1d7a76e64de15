"""What a farm's condition is worth telling a person, and how grave it is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.condition import (
    Condition,
    Disk,
    Hang,
    Held,
    OpenPort,
    Severity,
    Skew,
    StuckMessage,
    WorkerCondition,
    findings,
)

GIB, HOUR_S, DAY_S = 1024**3, 3600.0, 86400.0
NOW_S = 1e9
WELL = Condition(
    now_s=NOW_S,
    master_runs=True,
    buildbot="4.3.0",
    disks=(Disk(path="/farm", free=50 * GIB, total=100 * GIB),),
    skews=(Skew(whose="the lab of apu", seconds=0.2),),
    workers=(WorkerCondition(name="lab", connected=True, version="4.3.1"),),
    last_boot_at_s=NOW_S - HOUR_S,
    waiting=3,
)


def told(**fields: object) -> list[tuple[str, str]]:
    return [(one.severity.value, one.part) for one in findings(replace(WELL, **fields))]


def mail(age_s: float, *, given_up: bool = False) -> StuckMessage:
    return StuckMessage(row="mail 1", since_s=NOW_S - age_s, given_up=given_up, error="451 later")


def port(of: str, *, is_local: bool = False, is_encrypted: bool = False) -> OpenPort:
    return OpenPort(of=of, port="tcp:9989", is_local=is_local, is_encrypted=is_encrypted)


def test_a_port_that_others_cannot_reach_or_read_is_not_told():
    assert told(ports=(port("workers", is_local=True), port("pages", is_encrypted=True))) == []


def test_of_a_farm_that_is_well_nothing_is_told():
    assert findings(WELL) == ()


@pytest.mark.parametrize(
    ("fields", "severity", "part"),
    [
        ({"database_problem": "it does not answer", "database_next": "x"}, "error", "database"),
        ({"master_runs": False}, "error", "master"),
        ({"disks": (Disk(path="/", free=GIB // 2, total=GIB),)}, "error", "disk"),
        ({"disks": (Disk(path="/", free=4 * GIB, total=100 * GIB),)}, "warning", "disk"),
        ({"skews": (Skew(whose="the database", seconds=61),)}, "error", "clock"),
        ({"skews": (Skew(whose="the database", seconds=6),)}, "warning", "clock"),
        ({"workers": (WorkerCondition(name="w", connected=False),)}, "error", "workers"),
        (
            {"workers": (WorkerCondition(name="w", connected=True, version="3.11"),)},
            "warning",
            "workers",
        ),
        ({"last_boot_at_s": NOW_S - 25 * HOUR_S}, "error", "boots"),
        ({"last_boot_at_s": NOW_S - 8 * DAY_S, "waiting": 0}, "warning", "boots"),
        ({"last_boot_at_s": None}, "warning", "boots"),
        ({"messages": (mail(2 * HOUR_S),)}, "warning", "outbox"),
        ({"messages": (mail(25 * HOUR_S),)}, "error", "outbox"),
        ({"messages": (mail(0, given_up=True),)}, "warning", "outbox"),
        (
            {"held": (Held(testbed="apu", since_s=NOW_S - HOUR_S, reason="off"),)},
            "warning",
            "testbeds",
        ),
        ({"ports": (port("workers"),)}, "warning", "ports"),
        ({"ports": (port("pages"),)}, "warning", "ports"),
    ],
)
def test_each_trouble_is_told_once_with_the_next_thing_to_do(fields, severity, part):
    assert told(**fields) == [(severity, part)]
    (one,) = findings(replace(WELL, **fields))
    assert one.problem
    assert one.next


def test_a_master_that_hung_is_told_for_a_week_with_how_often():
    ages_s = (8 * DAY_S, 2 * DAY_S, 600.0)
    hung = tuple(
        Hang(at_s=NOW_S - age_s, what="did not answer for 60 s", path=f"/farm/{age_s:.0f}.txt")
        for age_s in ages_s
    )
    (finding,) = findings(replace(WELL, hangs=hung))
    assert (finding.severity, finding.part) == (Severity.WARNING, "master")
    assert finding.problem == ("10 min ago it did not answer for 60 s; so it was 2 times this week")
    assert "/farm/600.txt" in finding.next
    assert told(hangs=hung[:1]) == []


def test_numbers_that_several_commits_claim_are_told_with_what_to_do():
    line = "r30 is claimed by 2 commits of main, a, b: it means the oldest, a; correct the notes"
    (one,) = findings(replace(WELL, doubled_numbers=(line,)))
    assert (one.severity, one.part, one.next) == ("warning", "repository", "correct the notes")
    assert one.problem == line.partition(";")[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"last_boot_at_s": NOW_S - 25 * HOUR_S, "waiting": 0},
        {"last_boot_at_s": None, "waiting": 0},
        {"messages": (mail(HOUR_S / 2),)},
        {"workers": (WorkerCondition(name="w", connected=True, version=""),)},
    ],
)
def test_what_is_usual_is_not_told(fields):
    assert told(**fields) == []


def test_workers_of_a_master_that_does_not_run_are_not_told_besides():
    workers = (WorkerCondition(name="w", connected=False),)
    assert told(master_runs=False, workers=workers) == [("error", "master")]


@given(
    free=st.integers(0, 10**14),
    skew_s=st.floats(0, 1e6),
    silent_s=st.floats(0, 1e8),
    waiting=st.integers(0, 9),
)
def test_errors_stand_first_and_more_trouble_is_never_less_grave(free, skew_s, silent_s, waiting):
    fields = {
        "disks": (Disk(path="/", free=free, total=10**14),),
        "skews": (Skew(whose="the database", seconds=skew_s),),
        "last_boot_at_s": NOW_S - silent_s,
        "waiting": waiting,
    }
    found = [one.severity for one in findings(replace(WELL, **fields))]
    assert found == sorted(found, key=lambda one: one is not Severity.ERROR)
    worse = findings(replace(WELL, **fields, master_runs=False))
    assert len(worse) == len(found) + 1
