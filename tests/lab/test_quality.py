"""A run that cannot be believed is refused, and told why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.wire import RunLogs
from buildbot_bench.lab.pktgen import (
    FitRun,
    Flaw,
    Sent,
    UnfitRun,
    Unusable,
    judge_run,
    parse_sender,
    receiver_is_ready,
)
from tests.lab.test_pktgen import PIECES, line, log

SENT = "Sent 80000000 packets 4800000000 bytes 196881 events 60 bytes each in 54.56 seconds.\n"
SENT += "Speed: 1466333 pps Bandwidth: 703.839 Mbps (raw 985.375 Mbps). Average batch: 406 pkts\n"


def judge(receiver=None, senders=(SENT,), siblings=(), load_pps=1_466_333.0):
    logs = RunLogs(receiver=receiver or log(*[700_000] * 5), senders=senders)
    return judge_run(logs, load_pps=load_pps, line_rate_pps=1_488_095.0, siblings=siblings)


def test_a_sound_run_has_what_passed_and_what_was_offered():
    assert judge() == FitRun(value_pps=700_000.0, offered_pps=1_466_333.0)


@pytest.mark.parametrize(
    ("arguments", "flaw"),
    [
        ({"receiver": "CMD\n"}, Flaw.NO_DATA),
        ({"receiver": log(0, 0, 0)}, Flaw.NO_TRAFFIC),
        ({"receiver": line(9) + "\n" + log(0, 0, 0)}, Flaw.NO_TRAFFIC),
        ({"receiver": log(0, 0), "senders": ("ouch, thread 0 exited with error",)}, Flaw.SENDER),
        ({"senders": ("",)}, Flaw.SENDER),
        ({"load_pps": 1_400_000.0}, Flaw.OFFERED_LOAD),
        ({"siblings": (1_450_000.0, 1_440_000.0)}, Flaw.FAR),
    ],
)
def test_each_flaw_is_told(arguments, flaw):
    verdict = judge(**arguments)
    assert isinstance(verdict, UnfitRun)
    assert verdict.flaw is flaw
    assert verdict.reason


def test_a_saturated_run_is_a_measurement_that_tells_what_it_hides():
    verdict = judge(receiver=log(*[1_460_000] * 5))
    assert isinstance(verdict, FitRun)
    assert verdict.value_pps == 1_460_000.0
    assert verdict.remark == "saturated: 1460000 pps of 1466333 passed, the DUT could do more"
    assert judge().remark == ""


def test_a_load_within_one_per_cent_is_what_was_asked_for():
    assert isinstance(judge(load_pps=1_455_000.0), FitRun)


def test_one_sibling_alone_says_nothing():
    assert isinstance(judge(siblings=(1_450_000.0,)), FitRun)


def test_a_second_mode_is_believed_when_it_comes_again():
    """580 581 738 773 780 kpps is one revision; so is 300 300 700 700."""
    assert isinstance(judge(siblings=(300_000.0, 301_000.0)), UnfitRun)
    assert isinstance(judge(siblings=(300_000.0, 301_000.0, 701_000.0)), FitRun)


def test_the_senders_speeds_are_added_up():
    assert judge(senders=(SENT, SENT), load_pps=2_932_666.0) == FitRun(
        value_pps=700_000.0, offered_pps=2_932_666.0
    )


def test_a_senders_last_lines_are_read_in_plain_and_in_short_units():
    assert parse_sender(SENT) == Sent(packets=80_000_000, pps=1_466_333.0)
    assert parse_sender(SENT.replace("1466333 pps", "1.466 Mpps")).pps == 1_466_000.0


def test_a_receiver_is_ready_when_it_polls_its_ring():
    opened = "528.442140 receiver_body [1940] reading from netmap:igb2 fd 3 main_fd 3\n"
    polled = "529.484493 receiver_body [1955] waiting for initial packets, poll returns 0 0\n"
    assert not receiver_is_ready("528.4 main [3385] Wait 2 secs for phy reset\n")
    assert not receiver_is_ready(opened)
    assert receiver_is_ready(opened + polled)


def test_the_archives_receivers_were_ready(archive):
    texts = [row["text"] for row in archive if row["median"] is not None]
    assert all(receiver_is_ready(text) for text in texts if "receiver_body" in text)


@given(st.lists(PIECES, max_size=30))
def test_no_log_breaks_the_senders_parser(pieces):
    assert isinstance(parse_sender("\n".join(pieces)), Sent | Unusable)
