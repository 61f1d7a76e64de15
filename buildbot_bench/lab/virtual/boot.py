"""The wait for a virtual DUT to forward packets, and the reason when it does not."""

import time

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.virtual.console import last_words
from buildbot_bench.lab.virtual.machine import VirtualMachine
from buildbot_bench.lab.virtual.system import System
from buildbot_bench.lab.virtual.wires import Lost

_LAST_GASP_S = 1.0  # that a machine may take to go off after its wires fell silent
_LOOK_S = 0.02  # between two looks at a console
_BY_OTHERS = ("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")


def await_forwarding(machine: VirtualMachine, system: System, limit_s: float) -> str:
    """Wait until packets come through; what happened instead, in a clause, or nothing.

    Raises InfraError when somebody else ended the machine.
    """
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
