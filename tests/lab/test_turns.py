"""The DUT's efficiency is read from its turns with the control, whatever the machine does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.lab.drivers.forwarders import (
    TrafficTurn,
    check_traffic,
    parse_turns,
    relative_efficiency,
)

LINE = "123.000001 cpu_clock [9] dut 640 pkts 2000000 nsec, control 704 pkts 1000000 nsec\n"
SENT = "Sent 1000 packets 18000 bytes 20 events 18 bytes each in 0.50 seconds.\n"


def turn(*, dut_ns=2000, control_ns=1000, dut=64, control=64):
    return TrafficTurn(
        dut_packets=dut, dut_ns=dut_ns, control_packets=control, control_ns=control_ns
    )


def receiver(arrived, damaged=0):
    return f"Received {arrived} packets 1 bytes\nSpeed: 1 pps\nDamaged {damaged} packets\n"


def test_turns_are_read_from_the_senders_log():
    assert parse_turns(f"noise\n{LINE}{SENT}") == [
        TrafficTurn(dut_packets=640, dut_ns=2_000_000, control_packets=704, control_ns=1_000_000)
    ]


def test_a_kernel_that_takes_twice_the_time_is_half_as_efficient():
    assert relative_efficiency([turn()] * 50) == 0.5


@given(st.lists(st.floats(min_value=0.2, max_value=5.0), min_size=30, max_size=60))
def test_a_machine_that_changes_its_speed_changes_nothing(speeds):
    turns = [turn(dut_ns=round(2e9 * s), control_ns=round(1e9 * s)) for s in speeds]
    assert relative_efficiency(turns) == pytest.approx(0.5, rel=1e-6)


def test_a_few_turns_that_something_cut_into_do_not_count():
    disturbed = [turn(dut_ns=90_000), turn(control_ns=70_000), turn(dut=0), turn(control=0)]
    assert relative_efficiency([turn()] * 30 + disturbed) == 0.5


@pytest.mark.parametrize("turns", [[], [turn(control=0)] * 50, [turn()] * 3])
def test_too_few_usable_turns_are_an_infrastructure_error(turns):
    with pytest.raises(InfraError, match="not one is usable"):
        relative_efficiency(turns)


def test_a_kernel_that_passes_nothing_is_untestable():
    with pytest.raises(UntestableRevision, match="passes no traffic"):
        check_traffic(receiver(0), SENT, [turn(control=500)])


def test_a_control_that_passes_nothing_is_an_infrastructure_error():
    with pytest.raises(InfraError, match="the control"):
        check_traffic(receiver(0), SENT, [turn(control=0)])


def test_a_kernel_that_returns_what_it_got_is_sound():
    check_traffic(receiver(1000), SENT, [turn(control=500)])


def test_a_kernel_that_loses_or_damages_packets_is_untestable():
    with pytest.raises(UntestableRevision, match="lost 200 of 1000 packets"):
        check_traffic(receiver(800), SENT, [turn(control=500)])
    with pytest.raises(UntestableRevision, match="damaged 3 of 1000 packets"):
        check_traffic(receiver(500, damaged=3), SENT, [turn(control=500)])


def test_a_sender_that_died_is_an_infrastructure_error():
    with pytest.raises(InfraError, match="the sender died"):
        check_traffic("", LINE, [turn()])


@given(st.text() | st.lists(st.sampled_from([LINE, SENT, receiver(1), "x"])).map("".join))
def test_no_log_breaks_the_parser(text):
    turns = parse_turns(text)
    assert all(found.dut_packets >= 0 for found in turns)
