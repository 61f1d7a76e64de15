"""A receiver's log gives the archive's median, and one that gives none says why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.lab.pktgen import HEAD_LINES, TAIL_LINES, Reading, Unusable, parse_receiver


def line(pps):
    return (
        f"123.456789 main_thread [2786] {pps} pps (99 pkts 99 bps in 1000999 usec) 2.98 avg_batch"
    )


def log(*pps, head=HEAD_LINES, tail=TAIL_LINES):
    return "\n".join(["boot"] * head + [line(p) for p in pps] + ["Terminated"] * tail) + "\n"


def test_the_archives_medians_are_reproduced(archive):
    for row in archive:
        match parse_receiver(row["text"]):
            case Reading(median_pps=median):
                assert median == float(row["median"]), row["source"]
            case Unusable():
                assert row["median"] is None, row["source"]
    assert len(archive) == 25


def test_the_first_15_and_the_last_10_lines_do_not_count():
    assert parse_receiver(log(1, 2, 30, head=14, tail=9)) == Reading(
        median_pps=2.0, intervals_pps=(2,)
    )


def test_an_even_number_of_intervals_has_the_mean_of_the_middle_two():
    assert parse_receiver(log(10, 40, 20, 31)).median_pps == 25.5


def test_intervals_that_begin_with_a_zero_do_not_count():
    assert parse_receiver(log(0, 10, "007", 20, 0)).intervals_pps == (10, 20)


def test_the_layout_of_2015_is_read_as_well():
    old = "290.703575 main_thread [1441] 729113 pps (730571 pkts in 1002000 usec)\n"
    assert parse_receiver("x\n" * HEAD_LINES + old + "y\n" * TAIL_LINES).median_pps == 729113


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no data"),
        ("CMD: pkt-gen -f rx\nTerminated\n", "no data"),
        (log(0, 0, 0), "0 pps for the whole run"),
        (log(1, 2, 3, head=2, tail=2), "truncated"),
        (
            log(1, 2, 3) + "701.123572 main_thread [2541] ouch, thread 0 exited with error\n",
            "crashed: ouch, thread 0 exited with error",
        ),
    ],
)
def test_a_bad_log_has_its_reason(text, reason):
    answer = parse_receiver(text)
    assert isinstance(answer, Unusable)
    assert reason in answer.reason


def test_a_whole_log_whose_seconds_are_all_zero_tells_of_no_traffic_not_of_a_cut():
    """A few packets passed before the DUT wedged; the first 15 lines do not count."""
    text = "\n".join(["boot"] * 12 + [line(p) for p in (88, 7, 0, *[0] * 20)]) + "\n"
    answer = parse_receiver(text + "Terminated\n" * 3)
    assert answer == Unusable(
        reason="0 pps in each of the 13 seconds that count", nothing_came=True
    )


PIECES = st.one_of(
    st.text(),
    st.integers().map(line),
    st.sampled_from([line(0), line("9" * 5000), line("٣"), "ouch", "main_thread [", "\r", "\x00"]),
)


@given(st.lists(PIECES, max_size=60), st.sampled_from(["\n", "\r\n", "", " "]))
def test_no_log_breaks_the_parser(pieces, separator):
    match parse_receiver(separator.join(pieces)):
        case Reading(median_pps=median, intervals_pps=intervals):
            assert min(intervals) <= median <= max(intervals)
        case Unusable(reason=reason):
            assert reason
