"""Timers ring when they should though the clock on the wall is set back, and not before."""

from dataclasses import dataclass

import pytest
from twisted.internet.task import Clock, LoopingCall

from buildbot_bench.steady_timers import SteadyTimers


@dataclass
class Machine:
    """A clock on the wall that the reactor goes by, and one that counts on."""

    reactor: Clock
    passed_s: float = 0.0

    def advance(self, seconds: float) -> None:
        self.passed_s += seconds
        self.reactor.advance(seconds)

    def set_back(self, seconds: float) -> None:
        self.reactor.rightNow -= seconds


@pytest.fixture
def machine() -> Machine:
    reactor = Clock()
    reactor.rightNow = 1e9
    reactor.callFromThread = lambda function, *arguments: function(*arguments)
    return Machine(reactor)


@pytest.fixture
def timers(machine: Machine) -> SteadyTimers:
    return SteadyTimers(
        machine.reactor, wall=machine.reactor.seconds, monotonic=lambda: machine.passed_s
    )


def test_a_loop_goes_on_when_the_clock_is_set_back_by_an_hour(machine, timers) -> None:
    rung: list[float] = []
    loop = LoopingCall(lambda: rung.append(machine.passed_s))
    loop.clock = machine.reactor
    loop.start(30, now=False)
    for _ in range(4):
        machine.advance(10)
    machine.set_back(3600)
    timers.look()
    for _ in range(8):
        machine.advance(10)
        timers.look()
    assert rung == [30, 60, 90, 120]


def test_a_clock_that_goes_on_or_forward_moves_no_timer(machine, timers) -> None:
    rung: list[float] = []
    machine.reactor.callLater(30, lambda: rung.append(machine.passed_s))
    machine.advance(10)
    timers.look()
    machine.set_back(-10)
    timers.look()
    machine.set_back(0.5)
    timers.look()
    assert rung == []
    machine.advance(10.5)
    assert rung == [20.5]
