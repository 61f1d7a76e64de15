"""Latency of what pkt-gen's ping prints: exact mean, percentiles within their bucket, histogram."""

import re
from collections import Counter

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.hardware.flows import Latency, LatencySettings, percentile_ns
from buildbot_bench.lab.pktgen import Pings, Unusable, parse_pings

# By the format strings of FreeBSD 13's pkt-gen.c: the first second has the first answer alone, and
# a line of main_thread may come between two of ping_body.
PRINTED = """\
CMD on generator: pkt-gen -N -f ping -i vale7:ping -n 30000 -R 10000
012.000101 main [2941] interface is vale7:ping
014.000301 ping_body [1443] count 1 RTT: min 90112 av 90112 ns
014.000303 ping_body [1460] k: 65536 .. 65536
\t     1
014.500000 main_thread [2673] 4980 pps (4980 pkts 2390400 bps in 1000000 usec) 1.00 avg_batch
015.000351 ping_body [1443] count 9990 RTT: min 9000 av 12000 ns
015.000352 main_thread [2673] 9990 pps (9990 pkts 4795200 bps in 1000000 usec) 1.00 avg_batch
015.000353 ping_body [1460] k: 8192 .. 65536
\t  9000   900     0    90
018.000401 ping_body [1398] poll error on queue 0: timeout
019.000501 ping_body [1443] count 10000 RTT: min 8500 av 14000 ns
019.000503 ping_body [1460] k: 8192 .. 16384
\t  9000  1000
019.900000 ping_body [1478] RTT over 30000 packets: min 8500 av 8664 ns
"""


def second(counts, least, mean, first, last):
    """What a second prints, with `1 << k` as an int of 32 bits."""
    ends = [((1 << (k % 32)) + 2**31) % 2**32 - 2**31 for k in (first, last)]
    return (
        f"1.000001 ping_body [1443] count {sum(counts)} RTT: min {least} av {mean} ns\n"
        f"1.000002 ping_body [1460] k: {ends[0]} .. {ends[1]}\n"
        f"\t{''.join(f' {count:5d}' for count in counts)}\n"
    )


def test_all_seconds_make_one_histogram_with_an_exact_mean():
    pings = parse_pings(PRINTED)
    assert pings.answers == {13: 18000, 14: 1900, 16: 91}
    assert pings.least_ns == 8500
    assert pings.mean_ns == pytest.approx((90112 + 9990 * 12000 + 10000 * 14000) / 19991)
    assert pings.lost == 1


def test_what_pkt_gen_of_freebsd_13_1_printed_is_read(data):
    """On a port of vale(4), beside a load of 2000 pps, answered by pong: an emulated machine."""
    pings = parse_pings((data / "lab" / "vale-ping.log").read_text())
    assert sum(pings.answers.values()) == 2813
    assert (min(pings.answers), max(pings.answers)) == (17, 28)
    assert pings.least_ns == 150670
    assert 1.6e6 < pings.mean_ns < 1.8e6
    assert 2**17 < percentile_ns(pings, 50.0) < 2**19


def test_a_frame_of_somebody_else_is_no_ping():
    """Zeros where the stamp is are 1970: bucket 60, and 1 << 60 wraps."""
    own = second([50], 9000, 9500, 13, 13)
    alien = second([1], -123, 456, 60, 60)
    mixed = second([40, *[0] * 46, 2], 8200, -77, 13, 60)
    stale = second([1023], 504368834, 594230170, 63, 63)  # as an em(4)'s ring had them
    pings = parse_pings(stale + own + mixed + alien)
    assert sum(pings.answers.values()) == 90
    assert (pings.least_ns, pings.mean_ns) == (8200, 9500)


@pytest.mark.parametrize(
    ("text", "reason", "nothing_came"),
    [
        ("1.2 ping_body [1398] poll error on queue 0: timeout\n", "no ping came back", True),
        ("1.2 ping_body [1372] seq 1/1 delta 0.000012\n", "older than FreeBSD 12's", False),
        (
            second([5], 9000, 9500, 13, 13) + second([9, *[0] * 46, 1], 9000, 1, 13, 60),
            "1 packets of others came between 14 pings",
            False,
        ),
        ("pkt-gen: illegal option -- U\n", "the ping's pkt-gen does not take", False),
    ],
)
def test_a_log_that_tells_no_latency_says_why(text, reason, nothing_came):
    answer = parse_pings(text)
    assert isinstance(answer, Unusable)
    assert reason in answer.reason
    assert answer.nothing_came is nothing_came


@given(st.lists(st.sampled_from([*PRINTED.splitlines(), "\t 1", "ouch", ""]) | st.text()))
def test_no_log_of_pings_breaks_the_parser(lines):
    match parse_pings("\n".join(lines)):
        case Pings(answers=answers, least_ns=least):
            assert sum(answers.values()) > 0
            assert least > 0
        case Unusable(reason=reason):
            assert reason


@given(st.lists(st.integers(1, 2**31), min_size=1, max_size=200), st.floats(0.1, 99.9))
def test_a_percentile_lies_in_the_bucket_of_the_true_one_and_never_falls(times, percent):
    answers = Counter(time.bit_length() - 1 for time in times)
    pings = Pings(answers=answers, least_ns=min(times), mean_ns=0.0, lost=0)
    rank = -(-percent * len(times) // 100)
    true = sorted(times)[max(1, int(rank)) - 1]
    found = percentile_ns(pings, percent)
    bucket = 2.0 ** (true.bit_length() - 1)
    assert max(bucket, min(times)) * (1 - 1e-9) <= found <= 2 * bucket * (1 + 1e-9)
    assert found <= percentile_ns(pings, min(99.9, percent * 1.1))


def test_mean_and_those_percentiles_are_told_that_enough_pings_reach():
    latency = Latency(load="50 %", load_pps=1e5, pings=parse_pings(PRINTED), lost=0.001)
    told = [metric.unit for metric in LatencySettings(shares=(0.5,)).metrics()]
    assert list(latency.values) == told
    assert told == ["us at 50 %", *(f"us at 50 % (p{p})" for p in ("50", "99", "99.9"))]
    few = Pings(answers={13: 999}, least_ns=9000, mean_ns=9500.0, lost=0)
    few = Latency(load="50 %", load_pps=1e5, pings=few, lost=0.0)
    assert list(few.values) == told[:2]
    assert few.values["us at 50 %"] == 9.5


def test_the_histogram_is_kept_as_hdrhistograms_tools_read_it():
    log = Latency(load="50 %", load_pps=1e5, pings=parse_pings(PRINTED), lost=0.001).log
    assert log.startswith("100000 pps, of which 0.10% were lost: 19991 pings came back, 1 did not")
    histogram = HdrHistogram.decode(re.search("50 %: (HIST.*)", log)[1])
    assert histogram.get_total_count() == 19991
    assert 2**13 <= histogram.get_value_at_percentile(50) < 2**14
    assert 2**16 <= histogram.get_max_value() < 2**17


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"shares": (1.5,)}, "shares: one is not in 0..1"),
        ({"rates_pps": (0.0,)}, "rates_pps: one is no rate"),
        ({"shares": ()}, "give one to 4"),
        ({"duration_s": 1.0}, "duration_s: 1 is not in"),
        ({"pings_pps": 0.0}, "pings_pps: 0 is not in"),
        ({"source": "-X"}, "'-X' is no address"),
    ],
)
def test_settings_that_time_nothing_are_refused(wrong, complaint):
    with pytest.raises(UsageError, match=re.escape(complaint)):
        LatencySettings(**wrong)
