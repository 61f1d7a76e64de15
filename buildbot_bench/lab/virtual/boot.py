"""The wait for a virtual DUT to forward packets, and what its console says when it does not."""

import re
import time

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.boot_watch import panic_in
from buildbot_bench.lab.virtual.machine import VirtualMachine
from buildbot_bench.lab.virtual.system import System
from buildbot_bench.lab.virtual.wires import Lost

_BUILD_ID = re.compile(r"^(?:build-id|kern\.build_id): ([0-9a-f]{8,64})\s*$", re.MULTILINE)
_SHOWN = 120  # characters of a line
_LAST_LINES = 5  # lines


def build_id_in(console: str) -> str:
    """The build ID that a kernel printed as it booted; empty if it did not."""
    match = _BUILD_ID.search(console)
    return match[1] if match else ""


def last_lines(console: str) -> str:
    """The last lines that are not empty, in one; for an error that somebody must fix."""
    lines = [line.strip()[:_SHOWN] for line in console.splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:]) or "nothing"


def last_words(console: str) -> str:
    """A panic, or else the last line that is not empty, in a clause; empty for a silent one."""
    if panic := panic_in(console):
        return panic[:_SHOWN]
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    return f"its last words: {lines[-1][:_SHOWN]}" if lines else "its console stayed silent"


_LAST_GASP_S = 1.0  # that a machine may take to go off after its wires fell silent
_LOOK_S = 0.02  # between two looks at a console
_BY_OTHERS = ("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")


def await_forwarding(machine: VirtualMachine, system: System, limit_s: float) -> str:
    """Wait until packets come through; what happened instead, in a clause, or nothing."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        console = machine.console()
        if fault := system.fault(console):
            return fault
        if not system.is_ready(console):
            time.sleep(_LOOK_S)
        elif machine.wires.answers():
            machine.wires.settle()
            return ""
        if machine.ending():
            return _ended(machine)
    return f"forwarded nothing within {limit_s:g} s ({last_words(machine.console())})"


def fate(machine: VirtualMachine, lost: Lost) -> str:
    """What became of a kernel that forwarded until now, in a clause."""
    if machine.ends_within(_LAST_GASP_S):
        return _ended(machine)
    return f"did not do its work: {lost} ({last_words(machine.console())})"


def _ended(machine: VirtualMachine) -> str:
    """How a machine went off that nobody switched off, in a clause.

    QEMU ends with status 0 when its guest resets itself, and with another one when it cannot or
    will not boot what it was given.
    """
    ending = machine.ending() or ""
    if ending.endswith(_BY_OTHERS):
        raise InfraError(f"QEMU {ending}", hint="who did that? memory may have run out")
    if ending != "ended with status 0":
        return f"was no more: QEMU {ending} ({machine.complaint()[-300:]})"
    return f"reset the machine ({last_words(machine.console())})"
