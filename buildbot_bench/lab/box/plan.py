"""The machines of a box, their lab ports and links, and where each has its files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

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
