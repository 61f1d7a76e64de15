"""In lock-step a kernel loses, and holds back, what is its own doing: on a busy machine as well."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import LATENCIES, NDR, PACKETS_PER_CPU_SECOND, PDR, more_is_better
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings, EmbeddedWorkload
from buildbot_bench.lab.drivers.forwarders import (
    TICK_S,
    held_back,
    latencies,
    offered,
    parse_bursts,
)
from buildbot_bench.lab.files import sha256
from tests.fakes.kernels import planted_kernel, sound_kernel

MEDIAN, TAIL = (metric.unit for metric in LATENCIES.values())
PACE = PACKETS_PER_CPU_SECOND.unit


def sender(*, holds: int, short: int = 0):
    """A kernel whose queue holds so many; the sender itself may send fewer than it is to."""

    def send(packets: int, bursts: int) -> tuple[str, str]:
        sizes = [packets * (n + 1) // bursts - packets * n // bursts for n in range(bursts)]
        sizes[0] -= short
        back = [min(size, holds) for size in sizes]
        lines = zip(sizes, back, strict=True)
        log = "".join(f"1.0 burst [9] sent {n} pkts, back {b} pkts\n" for n, b in lines)
        return f"Received {sum(back)} packets 18 bytes\n", log

    return send


def test_what_the_queue_does_not_hold_is_lost():
    offer = offered(sender(holds=100), pace_pps=1e6)
    assert (full := offer(100 / TICK_S, 0.02)).sent == full.received == 4000
    more = offer(101 / TICK_S, 0.02)
    assert (more.sent, more.received) == (4040, 4000)
    assert more.line.endswith("sent 4040, lost 40, queue dropped 40")


def test_what_the_kernel_has_no_time_for_is_lost_though_all_came_back():
    offer = offered(sender(holds=10_000), pace_pps=300_000)
    assert (within := offer(300_000, 0.02)).received == within.sent
    beyond = offer(330_000, 0.02)
    assert (beyond.sent, beyond.received, dict(beyond.counters)) == (6600, 6000, {})


def test_a_sender_that_sends_less_is_at_fault():
    with pytest.raises(InfraError, match="sent 3999 of 4000 packets"):
        offered(sender(holds=10_000, short=1), pace_pps=1e6)(200_000, 0.02)


@given(st.integers(1, 40), st.integers(1, 10))
def test_of_a_batch_the_first_waits_for_all_others(batch, batches):
    back = ([0] * (batch - 1) + [batch]) * batches
    assert held_back(back) == list(reversed(range(batch))) * batches


def test_a_latency_is_the_interval_of_those_waited_for_and_a_packets_own_time():
    log = "".join(f" burst [9] sent 1 pkts, back {back} pkts\n" for back in (0, 0, 0, 4) * 80)
    found = latencies(log, pace_pps=500_000, rate_pps=100_000)
    assert found == pytest.approx({MEDIAN: 12.0, TAIL: 32.0})
    with pytest.raises(InfraError, match="no packet"):
        latencies("", pace_pps=500_000, rate_pps=100_000)


def test_less_latency_is_better():
    assert not any(map(more_is_better, (MEDIAN, TAIL)))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    root = tmp_path_factory.mktemp("kernels")
    planted = {name: planted_kernel(root, name) for name in ("drops", "batching")}
    return planted | {"sound": sound_kernel(root)}


@pytest.fixture(scope="module")
def measure(kernels, tmp_path_factory):
    """One boot of a kernel; the unit that is judged and its value, and all values."""
    home = tmp_path_factory.mktemp("home")

    def measure(name, workload):
        driver = EmbeddedDriver(EmbeddedSettings(duration_s=1.0), home)
        with Dut(driver, kernels[name], sha256(kernels[name])) as dut:
            dut.boot()
            dut.verify()
            return dut.blast(workload).values

    return measure


@contextmanager
def busy() -> Iterator[None]:
    """Two endless loops, one of them on the testbed's processor."""
    with ExitStack() as loops:
        for _ in range(2):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            loops.callback(loop.wait)
            loops.callback(loop.kill)
            if hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(loop.pid, {max(os.sched_getaffinity(0))})
        yield


def test_the_rate_without_loss_is_a_sound_kernels_pace(measure):
    values = measure("sound", "lossless")
    assert list(values)[:3] == [NDR.unit, PDR.unit, PACE]
    assert values[NDR.unit] == pytest.approx(values[PACE], rel=0.01)


def test_a_burst_meets_an_empty_queue_and_a_kernel_that_does_not_run(kernels, tmp_path):
    """With one flow each packet is a system call of its own, so that a burst takes its time."""
    driver = EmbeddedDriver(EmbeddedSettings(), tmp_path)
    with busy(), Dut(driver, kernels["drops"], sha256(kernels["drops"])) as dut:
        dut.boot()
        _, log = driver._send_bursts(EmbeddedWorkload(flows=1), 40 * 350, 40)
    bursts = parse_bursts(log)
    assert [sent for sent, _ in bursts] == [350] * 40
    assert len({back for _, back in bursts}) == 1


def test_a_busy_machine_changes_no_rate(measure):
    """What the queue decides repeats to the packet, and what the pace decides as that does."""
    alone = measure("drops", "lossless")
    with busy():
        drops, sound = measure("drops", "lossless"), measure("sound", "lossless")
    assert drops[NDR.unit] == pytest.approx(alone[NDR.unit], rel=0.02)
    assert sound[NDR.unit] == pytest.approx(sound[PACE], rel=0.01)


def test_each_change_is_seen_where_it_is_planted_and_nowhere_else(measure):
    sound = measure("sound", "lossless") | measure("sound", "latency")
    ratios = {}
    for name in ("drops", "batching"):
        found = measure(name, "lossless") | measure(name, "latency")
        ratios[name] = {unit: found[unit] / sound[unit] for unit in (PACE, NDR.unit, MEDIAN)}
    assert ratios["drops"][NDR.unit] < 0.7
    assert ratios["batching"][MEDIAN] > 10
    assert [ratios[name][PACE] for name in ratios] == pytest.approx([1, 1], abs=0.08)
    assert ratios["batching"][NDR.unit] == pytest.approx(1, abs=0.08)
    assert ratios["drops"][MEDIAN] == pytest.approx(1, abs=0.08)
