"""The two ways of measuring a virtual DUT that forwards: how fast, and by how many instructions."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.driver import Blast
from buildbot_bench.lab.drivers.child import beside
from buildbot_bench.lab.virtual.frames import PACKETS
from buildbot_bench.lab.virtual.machine import Machine
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, PPS
from buildbot_bench.lab.virtual.trace import Executed, read_trace
from buildbot_bench.lab.virtual.wires import Lost

_WARM_UP = 0.1  # of the bursts
_ASLEEP_S = 5.0
# Its name since QEMU 8.1, and before.
_ONE_BY_ONE = ("one-insn-per-tb on", "singlestep on")


def measure_pps(machine: Machine, bursts: int) -> Blast:
    """Packets per second, by the first quartile of the time that a burst takes.

    DUT and generator share one processor, as that is when they hinder each other least. A burst
    takes about 0.2 ms, less than a time slice: what other programs take away makes some bursts
    long, and leaves that quartile where it is. (Five boots on two processors with a load of 4.5:
    these figures had a standard deviation of 0.9 %, means of 6 %.)
    """
    with beside(machine.cpu):
        for _ in range(max(1, int(_WARM_UP * bursts))):
            machine.wires.send_burst()
        took_s = [machine.wires.send_burst() for _ in range(max(4, bursts))]
    quartiles = statistics.quantiles(took_s, n=4)
    told = ", ".join(f"{1e6 * quartile:.1f}" for quartile in quartiles)
    log = f"{len(took_s)} bursts of {PACKETS} packets; quartiles of their time: {told} us\n"
    return Blast(values={PPS: PACKETS / quartiles[0]}, log=log)


def trace_bursts(machine: Machine, bursts: int, log: Path) -> Executed:
    """Every instruction that the DUT executes for some bursts, from sleep to sleep.

    Raises Lost when packets do, and when the kernel does not sleep: what it executes then is not
    for packets alone.
    """
    for command in _ONE_BY_ONE:
        if "unknown command" not in machine.monitor.command(command):
            break
    else:
        raise InfraError("this QEMU cannot run one instruction at a time")
    machine.wires.send_burst()
    _await_sleep(machine)
    log.unlink(missing_ok=True)
    machine.monitor.command(f"logfile {_quoted(log)}")
    machine.monitor.command("log exec,nochain")
    for _ in range(bursts):
        machine.wires.send_burst()
    _await_sleep(machine)
    machine.monitor.command("log none")
    try:
        return read_trace(log)
    finally:
        log.unlink(missing_ok=True)


def instructions_per_packet(executed: Executed, bursts: int) -> dict[str, float]:
    """The value of a traced blast."""
    return {INSTRUCTIONS: executed.total() / (bursts * PACKETS)}


def _quoted(path: Path) -> str:
    """A path as the monitor reads it."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _await_sleep(machine: Machine) -> None:
    """Wait until the processor is halted, and waits for a packet."""
    end_s = time.monotonic() + _ASLEEP_S
    while "HLT=1" not in machine.monitor.command("info registers"):
        if time.monotonic() > end_s:
            raise Lost("it never sleeps, so that its work cannot be told from its waiting")
        time.sleep(0.002)
