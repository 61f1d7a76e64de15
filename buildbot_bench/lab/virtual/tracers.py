"""A DUT's instructions: two ways to count them, and the values that follow from the counts."""

import re
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.lab.driver import Blast
from buildbot_bench.lab.drivers.child import beside
from buildbot_bench.lab.virtual.bursts import (
    LONGEST,
    PACKETS,
    ROUNDS,
    Burst,
    Executed,
    Lost,
    are_enough,
    disagreement,
    find_period,
    usual,
)
from buildbot_bench.lab.virtual.machine import (
    PROBE_READS_AT,
    PROBE_WORD,
    Monitor,
    VirtualMachine,
    boots,
    qemu_version,
)
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, PPS
from buildbot_bench.lab.virtual.trace import Plugin, compiled_plugin, read_trace

# Its name since QEMU 8.1, and before.
_ONE_BY_ONE = ("one-insn-per-tb on", "singlestep on")


class Tracer(Protocol):
    """Sees what a guest executes; each method is called while it sleeps.

    `longest` is the longest period, in bursts, that it is quick enough to look for.
    """

    longest: int

    def start(self) -> None:
        """Get ready, once a boot; InfraError where this QEMU cannot do it."""

    def clear(self) -> None:
        """Forget what was executed until now."""

    def read(self) -> Executed:
        """How often each address was executed since; InfraError when nothing was."""


class PluginTracer:
    """By a plugin that QEMU has loaded."""

    longest = LONGEST

    def __init__(self, monitor: Monitor, plugin: Plugin) -> None:
        self._monitor = monitor
        self._plugin = plugin

    def start(self) -> None:
        """Have all translated anew: to QEMU a block that may be chained is not one that may not."""
        self._plugin.switch_on()
        self._monitor.command("log nochain")

    def clear(self) -> None:
        """Set its counts to zero."""
        self._plugin.clear()

    def read(self) -> Executed:
        """Its counts."""
        if not (executed := self._plugin.read()):
            raise InfraError("QEMU's plugin counted no instruction", hint="see `bench-lab check`")
        return executed


class LogTracer:
    """By QEMU's log, which is written to the file `log` and removed."""

    longest = 16  # em(4)'s ring of 1024, in a minute or some

    def __init__(self, monitor: Monitor, log: Path) -> None:
        self._monitor = monitor
        self._log = log

    def start(self) -> None:
        """Put one instruction into each block that QEMU logs."""
        for command in _ONE_BY_ONE:
            if "unknown command" not in self._monitor.command(command):
                return
        raise InfraError("this QEMU cannot run one instruction at a time")

    def clear(self) -> None:
        """Begin a new log."""
        self._log.unlink(missing_ok=True)
        self._monitor.command(f"logfile {_quoted(self._log)}")
        self._monitor.command("log exec,nochain")

    def read(self) -> Executed:
        """End it, and see what is in it."""
        self._monitor.command("log none")
        try:
            return read_trace(self._log)
        finally:
            self._log.unlink(missing_ok=True)


class Tracing:
    """Which of the two a testbed has; it finds that out when it is asked first."""

    def __init__(self, program: str, home: Path) -> None:
        self._program = program
        self._home = home

    def in_words(self) -> str:
        """How instructions are counted here."""
        library, fault = self._library
        return f"QEMU's log, which is slow: {fault}" if library is None else "a plugin of QEMU's"

    def plugin(self) -> Plugin | None:
        """A plugin for a QEMU that is to be started, if it can count by one."""
        library, _ = self._library
        return None if library is None else Plugin(library, self._home / "logs")

    def tracer(self, machine: VirtualMachine) -> Tracer:
        """What traces a machine that was started with that plugin, or with none."""
        if machine.plugin is None:
            return LogTracer(machine.monitor, self._home / "logs" / "trace")
        return PluginTracer(machine.monitor, machine.plugin)

    @cached_property
    def _library(self) -> tuple[Path | None, str]:
        """The plugin if this QEMU counts by it, and else why not, in a clause."""
        program, home = self._program, self._home
        try:
            library = compiled_plugin(qemu_version(program, home), home)
        except BenchError as error:
            return None, error.message
        plugin = Plugin(library, home / "logs")
        try:
            if _counts_instructions(program, home, plugin):
                return library, ""
        finally:
            plugin.close()
        return None, f"this QEMU does not count by a plugin; see {home / 'logs' / 'probe-qemu.err'}"


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


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


def _counts_instructions(program: str, home: Path, plugin: Plugin) -> bool:
    """Whether this QEMU loads the plugin, and counts by it the instructions of a boot sector."""
    plugin.switch_on()
    # The last byte, which says that it is the end, may not have been read yet.
    return boots(program, home, "tcg", plugin=plugin) and (
        len(PROBE_WORD) - 1 <= plugin.read()[PROBE_READS_AT] <= len(PROBE_WORD)
    )
