"""The machines of a box: ports, links, files, disks, and the power of each."""

import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.archives.disk import run_tool
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.drivers.child import kill_leftovers, processes_below
from buildbot_bench.lab.virtual.bursts import Lost
from buildbot_bench.lab.virtual.machine import Monitor, option_value, qemu

# Of sun_path in unix(7), with the zero at its end; FreeBSD's is 104.
_LONGEST_SOCKET = 103
_LINKS = ("a", "b")  # between the sender and the DUT, between the DUT and the receiver
# The ports of each machine by the links that they are on.
LAYOUTS: Mapping[int, Mapping[str, Sequence[str]]] = {
    2: {"dut": ("a", "b"), "generator": ("a", "b")},
    3: {"dut": ("a", "b"), "sender": ("a",), "receiver": ("b",)},
}
DUT = "dut"
# RFC 2544's and RFC 5180's networks, as workers/lab/workloads/README.md has them.
_NETWORKS = {"a": ("198.18.0", "2001:2:"), "b": ("198.19.0", "2001:2:0:8000:")}
_RANGES = {"a": ("198.18.0.0/16", "2001:2::"), "b": ("198.19.0.0/16", "2001:2:0:8000::")}
_SIDES = {"a": "sender", "b": "receiver"}
_DUT_HOST, _END_HOST = 205, 203


@dataclass(frozen=True, kw_only=True, slots=True)
class Port:
    """A lab port, `em0` or `em1`; `link` joins it with the port of another machine."""

    name: str
    link: str
    mac: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A machine; ssh reaches it at `ssh_port` of the loopback interface."""

    name: str
    ssh_port: int
    home: Path
    ports: Sequence[Port]

    @property
    def disk(self) -> Path:
        """Its disk, which keeps what it writes."""
        return self.home / "disk.img"

    @property
    def console_log(self) -> Path:
        """What its serial console printed since it was made."""
        return self.home / "console.log"

    @property
    def console(self) -> Path:
        """The socket of its serial console."""
        return self.home / "console"

    @property
    def monitor(self) -> Path:
        """The socket of QEMU's monitor."""
        return self.home / "monitor"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabBox:
    """Machines, and the name of QEMU's program and accelerator that run them."""

    program: str
    accelerator: str
    machines: Sequence[Machine]

    def named(self, name: str) -> Machine:
        """Return the machine of that name; UsageError when there is none."""
        for machine in self.machines:
            if machine.name == name:
                return machine
        known = ", ".join(machine.name for machine in self.machines)
        raise UsageError(f"there is no machine {quoted(name)}", hint=f"the box has {known}")


def machines(home: Path, ssh_ports: Mapping[str, int]) -> tuple[Machine, ...]:
    """The machines of the box in the directory `home`, by the ports that ssh reaches them at."""
    layout = LAYOUTS[len(ssh_ports)]
    return tuple(
        Machine(
            name=name,
            ssh_port=ssh_ports[name],
            home=home / "machines" / name,
            ports=tuple(
                Port(name=f"em{n}", link=link, mac=f"52:54:00:be:{place:02x}:{n:02x}")
                for n, link in enumerate(links)
            ),
        )
        for place, (name, links) in enumerate(layout.items(), start=1)
    )


def link_socket(home: Path, machine: str, link: str) -> Path:
    """The socket at which a machine receives the frames of a link."""
    path = home / "links" / f"{link}.{machine}"
    if len(bytes(path)) > _LONGEST_SOCKET:
        raise UsageError(
            f"{home}: the path is {len(bytes(path)) - _LONGEST_SOCKET} bytes too long for sockets",
            hint="choose a shorter directory",
        )
    return path


def other_end(all_machines: Sequence[Machine], machine: Machine, port: Port) -> tuple[str, Port]:
    """The machine and port at the other end of a port's link."""
    return next(
        (other.name, end)
        for other in all_machines
        if other.name != machine.name
        for end in other.ports
        if end.link == port.link
    )


def network_lines(all_machines: Sequence[Machine], machine: Machine) -> list[str]:
    """The lines of rc.conf(5) for the lab ports of a machine, and static entries of the DUT."""
    is_dut = machine.name == DUT
    lines = [f'hostname="{machine.name}"']
    pairs = []
    for port in machine.ports:
        inet, inet6 = _NETWORKS[port.link]
        host = _DUT_HOST if is_dut else _END_HOST
        lines += [
            f'ifconfig_{port.name}="inet {inet}.{host}/24 -tso4 -tso6 -lro -vlanhwtso"',
            f'ifconfig_{port.name}_ipv6="inet6 {inet6}:{host}/64"',
        ]
        if is_dut:
            side, mac = _SIDES[port.link], other_end(all_machines, machine, port)[1].mac
            net, net6 = _RANGES[port.link]
            pairs.append(side)
            lines += [
                f'route_{side}="-net {net} {inet}.{_END_HOST}"',
                f'ipv6_route_{side}="{net6} -prefixlen 49 {inet6}:{_END_HOST}"',
                f'static_arp_{side}="{inet}.{_END_HOST} {mac}"',
                f'static_ndp_{side}="{inet6}:{_END_HOST} {mac}"',
            ]
    if pairs:
        names = ("static_routes", "ipv6_static_routes", "static_arp_pairs", "static_ndp_pairs")
        lines += [f'{name}="{" ".join(pairs)}"' for name in names]
    return lines


def ends(all_machines: Sequence[Machine]) -> dict[str, tuple[Machine, Port]]:
    """The sender's and the receiver's port, with the machines that have them."""
    return {
        _SIDES[port.link]: (machine, port)
        for machine in all_machines
        if machine.name != DUT
        for port in machine.ports
    }


Files = dict[str, tuple[int, bytes]]  # modes and contents by names

_LOADER_CONF = """\
console="comconsole"
boot_serial="YES"
autoboot_delay="1"
beastie_disable="YES"
vfs.root.mountfrom="ufs:/dev/vtbd0p2"
debug.debugger_on_panic="0"
kern.panic_reboot_wait_time="1"
hint.uart.0.at="isa"
hint.uart.0.port="0x3F8"
hint.uart.0.irq="4"
hint.uart.0.flags="0x10"
"""
_FSTAB = "/dev/vtbd0p2 / ufs rw 1 1\n"
_PERMIT = "".join(f"{kind} required pam_permit.so\n" for kind in ("auth", "account", "session"))
_SSHD = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
UsePAM no
Subsystem sftp /usr/libexec/sftp-server
"""
# netmap(4) keeps its buffers once pkt-gen ran: 163,840 of 2 KiB leave a machine of 512 MiB too
# little for sshd(8). Two ports have eight rings of 1,024. Source: sys/dev/netmap/netmap_mem2.c.
_SYSCTL_CONF = "dev.netmap.buf_num=16384\n"
_TTYS = 'console none unknown off secure\nttyu0 "/usr/libexec/getty std.115200" vt100 on secure\n'
_RC_CONF = """\
# One disk serves all machines of the box: the serial number says which one this is.
case "$(/bin/kenv -q smbios.system.serial)" in
{roles}
esac
ifconfig_vtnet0="inet 10.0.2.15/24"
sshd_enable="YES"
sshd_ecdsa_enable="NO"
sshd_rsa_enable="NO"
fsck_y_enable="YES"
background_fsck="NO"
syslogd_flags="-ss"
cron_enable="NO"
sendmail_enable="NONE"
dumpdev="NO"
entropy_boot_file="/boot/entropy"
"""


def box_files(
    all_machines: Sequence[Machine], host_key: Path, authorized: Path, kernel: Path
) -> Files:
    """The files by their names in the root, for a kernel that is unpacked in a directory."""
    roles = "\n".join(
        "\n".join((f"{machine.name})", *network_lines(all_machines, machine), ";;"))
        for machine in all_machines
    )
    texts = {
        "boot/loader.conf": _LOADER_CONF,
        "etc/fstab": _FSTAB,
        "etc/rc.conf": _RC_CONF.format(roles=roles),
        "etc/ssh/sshd_config": _SSHD,
        "etc/sysctl.conf": _SYSCTL_CONF,
        "etc/ttys": _TTYS,
        **{f"etc/pam.d/{name}": _PERMIT for name in ("login", "other")},
        "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
        # syslogd(8) looks its port up, though it opens none, and does not start without.
        "etc/services": "syslog 514/udp\n",
    }
    files = {name: (0o644, text.encode()) for name, text in texts.items()}
    files["etc/ssh/ssh_host_ed25519_key"] = (0o600, host_key.read_bytes())
    files["root/.ssh/authorized_keys"] = (0o600, authorized.read_bytes())
    for path in sorted(kernel.iterdir()):
        if path.is_file() and path.name != "kernel.debug":
            files[f"boot/kernel/{path.name}"] = (0o555, path.read_bytes())
    return files


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
