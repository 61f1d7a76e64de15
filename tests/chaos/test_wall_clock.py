"""A process goes by a clock that is set, stands and goes on, and its pauses stay what they are."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.clock import WallClock

ASKED = "import sys, time\nfor _ in sys.stdin: time.sleep(.01); print(time.time(), flush=True)"
# The loop rings four times a second by a clock on the wall; each ring is a line.
RINGS = """\
import sys
from twisted.internet import reactor
from twisted.internet.task import LoopingCall
from buildbot_bench.steady_timers import SteadyTimers
SteadyTimers(reactor).startService()
LoopingCall(lambda: print("ring", flush=True)).start(0.25)
reactor.run()
"""


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    clock = WallClock(tmp_path)
    if clock.lacks:
        pytest.skip(clock.lacks)
    return clock


@pytest.fixture
def started(clock: WallClock) -> Iterator:
    processes = []

    def start(program: str) -> subprocess.Popen[str]:
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", program],
                env=os.environ | clock.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_clock_is_set_stands_and_goes_on(clock: WallClock, started) -> None:
    process = started(ASKED)

    def now_s() -> float:
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    began_s = now_s()
    clock.set(3600)
    ahead_s = now_s()
    assert ahead_s - began_s >= 3600
    clock.stop()
    assert now_s() == now_s()
    clock.go_on()
    assert now_s() >= ahead_s
    clock.set(-7200)
    assert now_s() < began_s


def test_timers_of_a_real_reactor_ring_when_the_clock_is_set_back(clock, started) -> None:
    process = started(RINGS)
    assert process.stdout.readline() == "ring\n"
    clock.set(-3600)
    # What was printed before is read first; an hour's wait would outlast the test.
    assert [process.stdout.readline() for _ in range(12)] == ["ring\n"] * 12
