"""Power of a box's machines: QEMU's processes, started, asked and ended."""

import socket
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from buildbot_bench.archives.disk import run_tool
from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.box.plan import LabBox, Machine, link_socket, other_end
from buildbot_bench.lab.drivers.child import kill_leftovers, processes_below
from buildbot_bench.lab.virtual.machine import Monitor, option_value, qemu
from buildbot_bench.lab.virtual.wires import Lost

_MEMORY_MIB = 512
_SHUTDOWN_S = 60.0  # rc.shutdown(8) takes some 10 s under emulation, on a quiet machine
_POLL_S = 0.2
# As PC hardware is, with nothing that a lab machine lacks; one processor, as TCG has one thread.
_FIXED = ("-nodefaults", "-no-user-config", "-display", "none", "-smp", "1", "-machine", "q35")


def is_on(machine: Machine) -> bool:
    """Return whether QEMU runs for a machine."""
    return bool(processes_below(machine.home))


def switch_on(home: Path, box: LabBox, machine: Machine) -> None:
    """Start QEMU for a machine of the box in `home`, unless it runs."""
    if is_on(machine):
        return
    command = [str(qemu(box.program, machine.home)), *_FIXED, "-accel", box.accelerator]
    command += ["-m", str(_MEMORY_MIB), "-smbios", f"type=1,serial={machine.name}"]
    command += ["-drive", f"file={option_value(machine.disk)},format=raw,if=virtio,cache=writeback"]
    forward = f"user,id=ssh,restrict=on,hostfwd=tcp:127.0.0.1:{machine.ssh_port}-:22"
    command += ["-netdev", forward, "-device", "virtio-net-pci,netdev=ssh,romfile="]
    for port in machine.ports:
        ours = link_socket(home, machine.name, port.link)
        theirs = link_socket(home, other_end(box.machines, machine, port)[0], port.link)
        ours.unlink(missing_ok=True)
        ours.parent.mkdir(exist_ok=True)
        sockets = f"local.type=unix,local.path={option_value(ours)}"
        sockets += f",remote.type=unix,remote.path={option_value(theirs)}"
        command += ["-netdev", f"dgram,id={port.name},{sockets}"]
        command += ["-device", f"e1000,netdev={port.name},mac={port.mac},romfile="]
    command += _terminals(machine)
    run_tool([*command, "-daemonize"])


def _terminals(machine: Machine) -> list[str]:
    """QEMU's arguments for monitor and serial console, each a socket; the console has a log."""
    for path in (machine.monitor, machine.console):
        path.unlink(missing_ok=True)
    listens = "server=on,wait=off"
    log = f"logfile={option_value(machine.console_log)},logappend=on"
    return [
        *("-chardev", f"socket,id=monitor,path={option_value(machine.monitor)},{listens}"),
        *("-mon", "chardev=monitor,mode=control"),
        *("-chardev", f"socket,id=console,path={option_value(machine.console)},{listens},{log}"),
        *("-serial", "chardev:console"),
    ]


def cut_power(machine: Machine) -> None:
    """End QEMU at once: the guest loses what its disk has not."""
    kill_leftovers(machine.home)
    _wait_off([machine])


def shut_down(all_machines: Sequence[Machine]) -> None:
    """Press the power buttons of the machines, and wait for these to go off, for a minute."""
    for machine in all_machines:
        with suppress(OSError, Lost, InfraError), closing(_monitor(machine)) as monitor:
            monitor.command("system_powerdown")
    _wait_off(all_machines)


def _monitor(machine: Machine) -> Monitor:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(machine.monitor))
    except OSError:
        connection.close()
        raise
    return Monitor(connection)


def _wait_off(some: Sequence[Machine]) -> None:
    end_s = time.monotonic() + _SHUTDOWN_S
    while any(map(is_on, some)) and time.monotonic() < end_s:
        time.sleep(_POLL_S)
