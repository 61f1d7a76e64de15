"""The number of instructions that a virtual DUT executes for a packet, by address."""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

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
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS
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
    """Find the period, and send rounds of it until there are enough of them."""
    bursts = [_count_burst(machine, tracer) for _ in range(tracer.longest * ROUNDS)]
    period = find_period(bursts)
    while not are_enough(bursts, period):
        bursts += [_count_burst(machine, tracer) for _ in range(period)]
    executed = usual(bursts, period)
    return Counted(
        executed=executed, packets=period * PACKETS, how=_account(bursts, period, executed)
    )


def _account(bursts: Sequence[Burst], period: int, executed: Executed) -> str:
    """What was done, in a line."""
    mean = sum(burst.executed.total() for burst in bursts) / len(bursts)
    left_out = mean - executed.total() / period
    return (
        f"a period of {period} bursts, {len(bursts) // period} rounds; "
        f"left out as not the packets': {left_out / PACKETS:.2f} instructions per packet "
        f"({left_out / mean:.2%}); "
        f"half of the rounds differ from the others by {disagreement(bursts, period):.4%}"
    )


def _count_burst(machine: VirtualMachine, tracer: Tracer) -> Burst:
    """Each instruction for one burst, from sleep to sleep."""
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
