"""Which functions cost a packet more: a table of exact captures that sums to the whole change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.profile import EXECUTED, CostChange, Profile, Stack, compare_costs
from buildbot_bench.core.report import Capture, Captures
from buildbot_bench.core.report.why import PerPacket, Why, explain, per_packet
from buildbot_bench.core.sample import PPS
from tests.fakes import counted_report

COUNTS = st.dictionaries(st.text(max_size=3), st.integers(min_value=1, max_value=10**9))


def capture(packets: int, counts: dict[str, int], **places: str) -> Profile:
    stacks = [Stack(frames=(name,), samples=count) for name, count in counts.items()]
    return Profile(stacks=tuple(stacks), event=EXECUTED, packets=packets, places=places)


def told(old: Profile, new: Profile, diff: str = "") -> Why:
    sides = (Capture(label=label, profile=side) for label, side in (("r1", old), ("r2", new)))
    return explain(Captures(counter=EXECUTED, old=next(sides), new=next(sides), diff=diff))


@given(COUNTS, COUNTS, st.integers(1, 999), st.integers(1, 999))
def test_the_table_and_the_others_sum_to_the_whole(old, new, old_packets, new_packets):
    table = per_packet(capture(old_packets, old), capture(new_packets, new), None)
    for side, counts, packets in (("old", old, old_packets), ("new", new, new_packets)):
        parts = [getattr(row, side) for row in (*table.functions, table.others)]
        whole = sum(counts.values()) / packets
        assert sum(parts) == pytest.approx(getattr(table.total, side))
        assert getattr(table.total, side) == pytest.approx(whole)
    assert len(table.functions) + table.others.functions == table.total.functions
    assert table.total.functions == len(old.keys() | new.keys())


def test_functions_that_appear_or_vanish_are_in_it_the_largest_change_first():
    old = capture(10, {"same": 500, "gone": 30, "more": 100})
    new = capture(20, {"same": 1000, "come": 40, "more": 300})
    assert compare_costs(old, new) == (
        CostChange(name="more", old=10.0, new=15.0),
        CostChange(name="gone", old=3.0, new=0.0),
        CostChange(name="come", old=0.0, new=2.0),
        CostChange(name="same", old=50.0, new=50.0),
    )


def test_idle_functions_count_too_as_they_do_in_what_is_measured():
    old, new = capture(1, {"cpu_idle": 5}), capture(1, {"cpu_idle": 7})
    assert [change.delta for change in compare_costs(old, new)] == [2.0]


def test_only_the_largest_changes_are_listed_and_what_nobody_can_see_is_not():
    many = {f"f{number:02}": 1000 * number for number in range(1, 31)}
    table = per_packet(capture(1000, many), capture(1000, {**many, "f01": 1004}), None)
    assert (table.functions, table.others.functions) == ((), 30)
    table = per_packet(capture(1000, {}), capture(1000, many), None)
    assert [one.new for one in table.functions] == [float(number) for number in range(30, 14, -1)]
    assert (table.others.old, table.others.new) == (0.0, sum(range(1, 15)))


def table_of(measured: tuple[float, float] | None) -> PerPacket:
    return per_packet(capture(1, {"f": 1000}), capture(1, {"f": 1100}), measured)


@pytest.mark.parametrize("measured", [None, (1000.0, 1100.0), (2000.0, 2101.9), (990.0, 1088.1)])
def test_captures_within_two_percent_of_the_measured_change_agree(measured):
    assert table_of(measured).note == ""


@pytest.mark.parametrize("measured", [(1000.0, 1103.0), (1000.0, 1000.0), (1100.0, 1000.0)])
def test_captures_that_do_not_agree_with_the_measurement_say_so(measured):
    note = table_of(measured).note
    assert "differ by +100.00 instructions per packet" in note
    assert f"by {measured[1] - measured[0]:+.2f}:" in note


def test_a_report_holds_the_captures_against_the_two_revisions_own_medians():
    assert counted_report.counted().why.per_packet.note == ""
    off = counted_report.counted(measured=3700.0).why.per_packet
    assert "the medians of what was measured by +103.00" in off.note


def test_packets_per_second_are_not_held_against_instructions():
    assert counted_report.counted(metric=PPS, measured=1.0).why.per_packet.note == ""


@pytest.mark.parametrize("changed", [{"packets": 0}, {"event": "cycles"}])
def test_what_is_sampled_or_of_unknown_packets_has_no_such_table(changed):
    old, new = capture(10, {"f": 100, "g": 900}), capture(10, {"f": 200, "g": 900})
    assert told(old, new).per_packet is not None
    why = told(replace(old, **changed), new)
    assert why.per_packet is None
    assert why.symbols


def test_a_place_is_the_new_kernels_or_else_the_old_ones():
    old = capture(1, {"f": 1, "gone": 5}, f="sys/a.c:1", gone="sys/a.c:9")
    new = capture(1, {"f": 2}, f="sys/a.c:2")
    table = per_packet(old, new, None)
    assert [(one.name, one.place) for one in table.functions] == [
        ("gone", "sys/a.c:9"),
        ("f", "sys/a.c:2"),
    ]


def test_the_commits_file_is_found_by_the_place_of_a_function():
    hunk = "@@ -2 +1,0 @@ f(void)\n-\tx;\n"
    diff = "".join(f"--- a/sys/{name}\n+++ b/sys/{name}\n{hunk}" for name in ("a.c", "b.c"))
    why = told(capture(1, {"f": 1}), capture(1, {"f": 2}, f="sys/b.c:1"), diff)
    assert [(place.path, place.changed) for place in why.places] == [("sys/b.c", ("f",))]


def test_what_a_kernel_says_of_itself_is_harmless():
    name = f"f\x1b[2J\u202e{'x' * 999}"
    old, new = (capture(1, {name: n}, **{name: f"\u202e{'y' * 999}:1"}) for n in (1, 2))
    (one,) = per_packet(old, new, None).functions
    assert (one.name + one.place).isprintable()
    assert (len(one.name), len(one.place)) == (48, 120)


def test_the_json_has_the_table():
    told = to_json(counted_report.counted())["why"]["per_packet"]
    assert told["functions"][0] == {
        "name": "in_cksumdata",
        "place": "sys/netinet/in_cksum.c:108",
        "old": 74.0,
        "new": 148.0,
    }
    assert told["others"] == {"functions": 2, "old": 3327.0, "new": 3327.0}
    assert told["total"] == {"functions": 5, "old": 3597.0, "new": 3691.0}
