"""The two ways to count a DUT's instructions: QEMU's plugin and QEMU's log."""

from functools import cached_property
from pathlib import Path
from typing import Protocol

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.lab.virtual.checkup import qemu_version
from buildbot_bench.lab.virtual.machine import VirtualMachine
from buildbot_bench.lab.virtual.monitor import Monitor
from buildbot_bench.lab.virtual.phases import LONGEST, Executed
from buildbot_bench.lab.virtual.plugin import Plugin, compiled_plugin
from buildbot_bench.lab.virtual.probe import counts_instructions
from buildbot_bench.lab.virtual.trace import read_trace

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
            if counts_instructions(program, home, plugin):
                return library, ""
        finally:
            plugin.close()
        return None, f"this QEMU does not count by a plugin; see {home / 'logs' / 'probe-qemu.err'}"


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
