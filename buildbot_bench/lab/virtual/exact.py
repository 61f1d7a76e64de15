"""The values of a virtual DUT: instructions for a packet, by address, and packets per second."""

import re
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from buildbot_bench.lab.driver import Blast
from buildbot_bench.lab.drivers.child import beside
from buildbot_bench.lab.virtual.frames import PACKETS
from buildbot_bench.lab.virtual.machine import VirtualMachine
from buildbot_bench.lab.virtual.phases import (
    ROUNDS,
    Burst,
    Executed,
    are_enough,
    disagreement,
    find_period,
    usual,
)
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, PPS
from buildbot_bench.lab.virtual.tracers import Tracer
from buildbot_bench.lab.virtual.wires import Lost

_WARM_UP = 2  # bursts, while QEMU translates what it runs for them
_ASLEEP_S = 5.0  # for a burst; one of FreeBSD's takes a millisecond of its own time
_LOOK_S = 0.001  # between two looks at the processor
_AT = re.compile(r"\b[RE]IP=([0-9a-f]+)")  # the next instruction, as QEMU shows it
_HLT_SIZE = 1  # byte: hlt, the instruction before it


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """How often each address was executed for so many packets; `how` that was found, one line."""

    executed: Executed
    packets: int
    how: str

    @property
    def values(self) -> dict[str, float]:
        """The value of a blast."""
        return {INSTRUCTIONS: self.executed.total() / self.packets}


def count(machine: VirtualMachine, tracer: Tracer, bursts: int | None) -> Counted:
    """Count a number of bursts, or as many as it takes to tell the packets' work from the clock's.

    Raises Lost when packets are, and when the kernel does not sleep: what it executes then is not
    for packets alone.
    """
    machine.wires.send_burst()
    _await_sleep(machine)
    tracer.start()
    for _ in range(_WARM_UP):
        _count_burst(machine, tracer)
    return _count_rounds(machine, tracer) if bursts is None else _count_all(machine, tracer, bursts)


def _count_all(machine: VirtualMachine, tracer: Tracer, bursts: int) -> Counted:
    executed: Executed = Counter()
    for _ in range(bursts):
        executed.update(_count_burst(machine, tracer).executed)
    return Counted(executed=executed, packets=bursts * PACKETS, how=f"all of {bursts} bursts")


def _count_rounds(machine: VirtualMachine, tracer: Tracer) -> Counted:
    bursts = [_count_burst(machine, tracer) for _ in range(tracer.longest * ROUNDS)]
    period = find_period(bursts)
    while not are_enough(bursts, period):
        bursts += [_count_burst(machine, tracer) for _ in range(period)]
    executed = usual(bursts, period)
    return Counted(
        executed=executed, packets=period * PACKETS, how=_account(bursts, period, executed)
    )


def _account(bursts: Sequence[Burst], period: int, executed: Executed) -> str:
    mean = sum(burst.executed.total() for burst in bursts) / len(bursts)
    left_out = mean - executed.total() / period
    return (
        f"a period of {period} bursts, {len(bursts) // period} rounds; "
        f"left out as not the packets': {left_out / PACKETS:.2f} instructions per packet "
        f"({left_out / mean:.2%}); "
        f"half of the rounds differ from the others by {disagreement(bursts, period):.4%}"
    )


def _count_burst(machine: VirtualMachine, tracer: Tracer) -> Burst:
    tracer.clear()
    machine.wires.send_burst()
    halt = _await_sleep(machine)
    executed = tracer.read()
    return Burst(executed=executed, sleeps=executed[halt])


def _await_sleep(machine: VirtualMachine) -> int:
    """Wait until the processor is halted, and waits for a packet; the address that it halted at."""
    end_s = time.monotonic() + _ASLEEP_S
    while "HLT=1" not in (registers := machine.monitor.command("info registers")):
        if time.monotonic() > end_s:
            raise Lost("it never sleeps: its work cannot be separated from its waiting")
        time.sleep(_LOOK_S)
    at = _AT.search(registers)
    return int(at[1], 16) - _HLT_SIZE if at else 0


_WARM_UP_SHARE = 0.1  # of the bursts


def measure_pps(machine: VirtualMachine, bursts: int) -> Blast:
    """Packets per second, by the first quartile of the time that a burst takes.

    DUT and generator share one processor, as that is when they hinder each other least. A burst
    takes about 0.2 ms, less than a time slice: what other programs take away makes some bursts
    long, and leaves that quartile where it is. (Five boots on two processors with a load of 4.5:
    these figures had a standard deviation of 0.9 %, means of 6 %.)
    """
    with beside(machine.cpu):
        for _ in range(max(1, int(_WARM_UP_SHARE * bursts))):
            machine.wires.send_burst()
        took_s = [machine.wires.send_burst() for _ in range(max(4, bursts))]
    quartiles = statistics.quantiles(took_s, n=4)
    quartiles_us = ", ".join(f"{1e6 * quartile:.1f}" for quartile in quartiles)
    log = f"{len(took_s)} bursts of {PACKETS} packets; quartiles of their time: {quartiles_us} us\n"
    return Blast(values={PPS: PACKETS / quartiles[0]}, log=log)
