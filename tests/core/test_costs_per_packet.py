"""Which functions cost a packet more: a table of exact captures that sums to the whole change."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.profile.functions import CostChange, compare_costs, cost_ratio, price
from buildbot_bench.core.profile.model import EXECUTED, Profile, Stack
from buildbot_bench.core.report.why import Capture, Captures, PerPacket, Why, explain, per_packet
from buildbot_bench.core.report.why_words import function_place, unexplained
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, PACKETS_PER_CPU_SECOND, PPS, Metric
from tests.core.profiles import folded
from tests.fakes import counted_report

COUNTS = st.dictionaries(st.text(max_size=3), st.integers(min_value=1, max_value=10**9))


def capture(packets: int, counts: dict[str, int], **places: str) -> Profile:
    stacks = [Stack(frames=(name,), samples=count) for name, count in counts.items()]
    return Profile(stacks=tuple(stacks), event=EXECUTED, packets=packets, places=places)


def table_of(
    old: Profile,
    new: Profile,
    levels: tuple[float, float] | None = None,
    metric: Metric = INSTRUCTIONS_PER_PACKET,
) -> PerPacket:
    priced = price(old, new, rates=levels if metric.is_rate_of_packets else None)
    assert priced is not None
    where = {**old.places, **new.places}
    return per_packet(
        compare_costs(*priced), unit=priced[0].unit, where=where, metric=metric, levels=levels
    )


def changes_of(old: Profile, new: Profile) -> tuple[CostChange, ...]:
    priced = price(old, new)
    assert priced is not None
    return compare_costs(*priced)


def sampled(counts: dict[str, int]) -> Profile:
    """Stacks as `caller;function`, with their samples."""
    stacks = (
        Stack(frames=tuple(path.split(";")), samples=samples) for path, samples in counts.items()
    )
    return Profile(stacks=tuple(stacks), event="cycles")


def told(old: Profile, new: Profile, diff: str = "") -> Why:
    sides = (Capture(label=label, profile=side) for label, side in (("r1", old), ("r2", new)))
    return explain(Captures(counter=EXECUTED, old=next(sides), new=next(sides), diff=diff))


@given(COUNTS, COUNTS, st.integers(1, 999), st.integers(1, 999))
def test_the_table_and_the_others_sum_to_the_whole(old, new, old_packets, new_packets):
    table = table_of(capture(old_packets, old), capture(new_packets, new))
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
    assert changes_of(old, new) == (
        CostChange(name="more", old=10.0, new=15.0),
        CostChange(name="gone", old=3.0, new=0.0),
        CostChange(name="come", old=0.0, new=2.0),
        CostChange(name="same", old=50.0, new=50.0),
    )


def test_idle_functions_count_too_as_they_do_in_what_is_measured():
    old, new = capture(1, {"cpu_idle": 5}), capture(1, {"cpu_idle": 7})
    assert [change.delta for change in changes_of(old, new)] == [2.0]


def test_only_the_largest_changes_are_listed_and_what_nobody_can_see_is_not():
    many = {f"f{number:02}": 1000 * number for number in range(1, 31)}
    table = table_of(capture(1000, many), capture(1000, {**many, "f01": 1004}))
    assert (table.functions, table.others.functions) == ((), 30)
    table = table_of(capture(1000, {}), capture(1000, many))
    assert [one.new for one in table.functions] == [float(number) for number in range(30, 14, -1)]
    assert (table.others.old, table.others.new) == (0.0, sum(range(1, 15)))


def held_against(measured: tuple[float, float] | None) -> PerPacket:
    return table_of(capture(1, {"f": 1000}), capture(1, {"f": 1100}), measured)


@pytest.mark.parametrize("measured", [None, (1000.0, 1100.0), (2000.0, 2101.9), (990.0, 1088.1)])
def test_captures_within_two_percent_of_the_measured_change_agree(measured):
    assert held_against(measured).note == ""


@pytest.mark.parametrize("measured", [(1000.0, 1103.0), (1000.0, 1000.0), (1100.0, 1000.0)])
def test_captures_that_do_not_agree_with_the_measurement_say_so(measured):
    note = held_against(measured).note
    assert "differ by +100.00 instructions per packet" in note
    assert f"by {measured[1] - measured[0]:+.2f}." in note


def test_a_report_holds_the_captures_against_the_two_revisions_own_medians():
    assert counted_report.counted().why.per_packet.note == ""
    off = counted_report.counted(measured=3700.0).why.per_packet
    assert "the measured levels by +103.00" in off.note


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
    table = table_of(old, new)
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
    (one,) = table_of(old, new).functions
    assert (one.name + one.place).isprintable()
    assert (len(one.name), len(one.place)) == (48, 120)


def test_the_json_has_the_table():
    told = to_json(counted_report.counted())["why"]["per_packet"]
    assert told["functions"][0] == {
        "name": "in_cksumdata",
        "place": "sys/netinet/in_cksum.c:108",
        "old": 74.0,
        "new": 148.0,
        "callers": [],
    }
    assert told["others"] == {"functions": 2, "old": 3327.0, "new": 3327.0}
    assert told["total"] == {"functions": 5, "old": 3597.0, "new": 3691.0}


def test_a_function_whose_share_falls_since_another_grew_costs_the_same():
    old = sampled({"rx;forward": 9000, "rx;count": 1000})
    new = sampled({"rx;forward": 9000, "rx;count": 5000})
    table = table_of(old, new, levels=(1e6, 1e6 / 1.4), metric=PPS)
    (count,) = table.functions
    assert (count.name, count.callers) == ("count", ("rx",))
    assert (count.old, count.new) == pytest.approx((100.0, 500.0))
    assert (table.total.old, table.total.new) == pytest.approx((1000.0, 1400.0))
    assert table.others.old == pytest.approx(table.others.new) == pytest.approx(900.0)
    assert (table.unit, table.explained) == ("ns", pytest.approx(1.0))


@given(COUNTS, COUNTS, st.floats(1e3, 1e8), st.floats(1e3, 1e8))
def test_sampled_costs_sum_to_the_change_of_the_time_of_a_packet(old, new, before, after):
    sides = [Profile(stacks=capture(1, side).stacks, event="cycles") for side in (old, new)]
    priced = price(*sides, rates=(before, after))
    if priced is None:
        assert not all(side.busy_samples for side in sides)
        return
    delta = sum(change.delta for change in compare_costs(*priced))
    assert delta == pytest.approx(1e9 / after - 1e9 / before, abs=1e-3)


def test_the_callers_are_those_through_which_the_change_came():
    old = sampled({"in;forward;copy": 1000, "out;send;copy": 1000, "out;send": 8000})
    new = sampled({"in;forward;copy": 1000, "out;send;copy": 3000, "out;send": 8000})
    (copy,) = table_of(old, new, levels=(1.2e6, 1e6), metric=PPS).functions
    assert (copy.name, copy.callers) == ("copy", ("send", "out"))
    assert function_place(copy) == "called by send, by out"


def test_a_change_that_is_spread_over_all_names_no_function():
    many = {f"in;f{number}": 400 for number in range(100)}
    why = explain(
        Captures(
            counter="cycles",
            old=Capture(label="r1", profile=sampled(many)),
            new=Capture(label="r2", profile=sampled(many)),
            diff="--- a/f1.c\n+++ b/f1.c\n@@ -1 +1 @@ f1(void)\n-\tx;\n+\ty;\n",
        ),
        metric=PPS,
        levels=(1e6, 7.5e5),
    )
    assert why.per_packet is not None
    assert (why.per_packet.functions, why.places) == ((), None)
    assert unexplained(why.per_packet) == (
        "Sampling explains 16 % of the change of +333.33 ns per packet. "
        "The functions that caused it are not known."
    )


@pytest.mark.parametrize("unit", ["MB/s", "s", "instructions/packet"])
def test_a_metric_that_is_no_rate_of_packets_gives_shares(unit):
    one = sampled({"in;f": 10})
    sides = Captures(old=Capture(label="r1", profile=one), new=Capture(label="r2", profile=one))
    metric = Metric(name="speed", unit=unit)
    assert explain(sides, metric=metric, levels=(1.0, 2.0)).per_packet is None
    assert price(one, one) is None
    assert cost_ratio(one, one) is None


def test_the_cost_of_a_packet_rises_as_its_rate_falls():
    one = sampled({"in;f": 10, "cpu_idle": 90})
    assert cost_ratio(one, one, rates=(1e6, 5e5)) == pytest.approx(2.0)
    old, new = capture(10, {"f": 1000}), capture(20, {"f": 2500})
    assert cost_ratio(old, new) == pytest.approx(1.25)


def test_a_function_of_the_commit_is_named_for_what_it_calls():
    """The C library's function got dearer, and no line of the commit lies in it."""
    diff = (
        "diff --git a/src/netif.c b/src/netif.c\n--- a/src/netif.c\n+++ b/src/netif.c\n"
        "@@ -40,0 +41 @@ netif_receive(struct packet *packets, int count)\n"
        "+\tlayer_queue(packets, count);\n"
    )
    old = folded("main;netif_receive;recvmmsg 600", "main;netif_transmit;sendmmsg 400")
    new = folded(
        "main;netif_receive;recvmmsg 600",
        "main;netif_transmit;sendmmsg 400",
        "main;netif_receive;sendmmsg 340",
    )
    sides = Captures(
        old=Capture(label="r1", profile=old), new=Capture(label="r2", profile=new), diff=diff
    )
    why = explain(sides, metric=PACKETS_PER_CPU_SECOND, levels=(134.0, 100.0))
    assert why.per_packet.functions[0].name == "sendmmsg"
    assert why.per_packet.functions[0].callers[0] == "netif_receive"
    (place,) = why.places
    assert place.changed == ("netif_receive",)
    assert [line.new for line in place.lines] == [41]
