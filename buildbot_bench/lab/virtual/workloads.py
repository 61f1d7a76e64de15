"""The workloads of virtual testbeds: traffic, and the DUT's set-up for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench import installed
from buildbot_bench.lab.virtual.settings import FREEBSD, MULTIBOOT
from buildbot_bench.lab.virtual.wires import (
    DESTINATION_4,
    DESTINATION_6,
    IPV4,
    IPV6,
    RECEIVER,
    SOURCE_4,
    SOURCE_6,
    BurstTraffic,
)

IPFW_COMMAND, PF_COMMAND = "ipfw", "pf"
# A kernel with ipfw in it has it look at each packet, even without a rule.
_NO_IPFW = ("-sysctl net.inet.ip.fw.enable=0", "-sysctl net.inet6.ip6.fw.enable=0")


@dataclass(frozen=True, kw_only=True, slots=True)
class VirtualWorkload:
    """What is sent, and how a FreeBSD is set up for it.

    `commands` takes the names of the ports to the sender and to the receiver, and gives lines for
    init (see init/init.c); `module` is loaded where the kernel itself has it not. `systems` are
    those that can be asked for it: what is no FreeBSD sets itself up.
    """

    traffic: BurstTraffic
    commands: Callable[[str, str], Sequence[str]]
    module: str = ""
    systems: frozenset[str] = frozenset({FREEBSD})


def workloads_of(system: str) -> Mapping[str, VirtualWorkload]:
    """The workloads that a system can be asked for, by name."""
    found = installed.load_all(installed.VIRTUAL_WORKLOADS)
    return {name: workload for name, workload in found.items() if system in workload.systems}


def route_ipv4(sending: str, receiving: str) -> list[str]:
    """The DUT's own networks are the last ones of the sender's and of the receiver's."""
    own, gateway = (DESTINATION_4[:2] + bytes([255, host]) for host in (254, 1))
    return [
        "sysctl net.inet.ip.forwarding=1",
        f"address {sending} {(SOURCE_4[:2] + bytes([255, 254])).hex()} 16",
        f"address {receiving} {own.hex()} 24",
        f"neighbour {receiving} {gateway.hex()} {RECEIVER.hex()}",
        f"route {DESTINATION_4.hex()} 16 {gateway.hex()}",
    ]


def route_ipv6(sending: str, receiving: str) -> list[str]:
    """The same of IPv6."""
    network = DESTINATION_6[:6] + b"\xff\xff"
    own, gateway = (network + bytes(7) + bytes([host]) for host in (254, 1))
    return [
        "sysctl net.inet6.ip6.forwarding=1",
        f"address {sending} {(SOURCE_6[:8] + bytes(6) + bytes([255, 254])).hex()} 64",
        f"address {receiving} {own.hex()} 64",
        f"neighbour {receiving} {gateway.hex()} {RECEIVER.hex()}",
        f"route {DESTINATION_6.hex()} 64 {gateway.hex()}",
    ]


def _after(
    *first: str, route: Callable[[str, str], list[str]] = route_ipv4
) -> Callable[[str, str], list[str]]:
    return lambda sending, receiving: [*first, *route(sending, receiving)]


FORWARDING = VirtualWorkload(
    traffic=IPV4, commands=_after(*_NO_IPFW), systems=frozenset({FREEBSD, MULTIBOOT})
)
FORWARDING6 = VirtualWorkload(traffic=IPV6, commands=_after(*_NO_IPFW, route=route_ipv6))
IPFW_STATEFULL = VirtualWorkload(traffic=IPV4, commands=_after(IPFW_COMMAND), module="ipfw")
PF_STATEFULL = VirtualWorkload(traffic=IPV4, commands=_after(*_NO_IPFW, PF_COMMAND), module="pf")
