"""What the init of a FreeBSD under test is told to do, and what it answers; it boots nothing.

Each line is a command that init/init.c knows. One that begins with a dash may fail.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from buildbot_bench.lab.virtual.frames import (
    DESTINATION_4,
    DESTINATION_6,
    IPV4,
    IPV6,
    RECEIVER,
    SOURCE_4,
    SOURCE_6,
    BurstTraffic,
)

READY = "bench: ready"
FORWARDING, FORWARDING_6 = "forwarding", "forwarding6"
IPFW, PF = "ipfw-statefull", "pf-statefull"
WORKLOADS: Mapping[str, BurstTraffic] = {FORWARDING: IPV4, FORWARDING_6: IPV6, IPFW: IPV4, PF: IPV4}
# The module that a workload needs where the kernel itself has it not.
MODULES: Mapping[str, str] = {IPFW: "ipfw", PF: "pf"}
# A kernel with ipfw in it has it look at each packet, even without a rule.
_NO_IPFW = ("-sysctl net.inet.ip.fw.enable=0", "-sysctl net.inet6.ip6.fw.enable=0")
_IPFW_COMMAND, _PF_COMMAND = "ipfw", "pf"
_FIREWALLS: Mapping[str, Sequence[str]] = {
    IPFW: (_IPFW_COMMAND,),
    PF: (*_NO_IPFW, _PF_COMMAND),
}
_FAILED = re.compile(r"^error: (\d+): ([^\r\n]*)", re.MULTILINE)
_UNLINKED = re.compile(r"^(KLD [^\r\n]*(?:: depends on|could not finalize)[^\r\n]*)", re.MULTILINE)
_NO_ROOT = re.compile(r"^mountroot>", re.MULTILINE)
# errno(2) of FreeBSD; the lab host may be another system.
_REASONS = {
    1: "that is not permitted while it runs",
    2: "there is no such name",
    6: "there is no such interface: the kernel lacks its driver",
    22: "that is no value for it",
    43: "there is no such protocol",
    47: "there is no such protocol",
    60: "it takes too long",
    78: "there is no such system call",
}
# The same of the firewalls' own commands; any other number is one of these.
_NO_FIREWALL = dict.fromkeys((2, 42), "neither kernel nor artefact have that firewall")
_NEWER_FIREWALL = "its interface is another one than FreeBSD 13's, which alone is known here"


def commands(workload: str, nic: str, settings: Sequence[str]) -> str:
    """The script for a workload: addresses, a route to the receiver, and what else is to be set.

    The DUT's ports are the network driver's first two; `settings` are NAME=VALUE.
    """
    ports = (f"{nic}0", f"{nic}1")
    network = _network_6(*ports) if workload == FORWARDING_6 else _network_4(*ports)
    firewall = _FIREWALLS.get(workload, _NO_IPFW)
    lines = ["-sysctl kern.build_id", *firewall, *network]
    lines += [f"{command} {port}" for command in ("up", "link") for port in ports]
    lines += [f"sysctl {setting}" for setting in settings]
    # Once more, as the kernel's own words may have come among the first.
    lines += ["-sysctl kern.build_id", f"say {READY}"]
    return "".join(f"{line}\n" for line in lines)


def is_ready(console: str) -> bool:
    """Whether init did all it was told to do."""
    return READY in console


def fault(console: str) -> str:
    """What keeps a kernel from being ready, for ever, in a clause; empty when nothing does."""
    if _NO_ROOT.search(console):
        return "finds no root: it lacks `device md` or `options FFS`"
    if unlinked := _UNLINKED.search(console):
        return f"could not load a module: {unlinked[1]}"
    if failed := _FAILED.search(console):
        return f"could not do `{failed[2]}` ({_reason(int(failed[1]), failed[2])})"
    return ""


def _reason(number: int, line: str) -> str:
    """What an errno(2) of FreeBSD means for a command."""
    if line in (_IPFW_COMMAND, _PF_COMMAND):
        return _NO_FIREWALL.get(number, _NEWER_FIREWALL)
    return _REASONS.get(number, f"errno {number} of FreeBSD")


def _network_4(sending: str, receiving: str) -> list[str]:
    """The DUT's own networks are the last ones of the sender's and of the receiver's."""
    own, gateway = (DESTINATION_4[:2] + bytes([255, host]) for host in (254, 1))
    return [
        "sysctl net.inet.ip.forwarding=1",
        f"address {sending} {(SOURCE_4[:2] + bytes([255, 254])).hex()} 16",
        f"address {receiving} {own.hex()} 24",
        f"neighbour {receiving} {gateway.hex()} {RECEIVER.hex()}",
        f"route {DESTINATION_4.hex()} 16 {gateway.hex()}",
    ]


def _network_6(sending: str, receiving: str) -> list[str]:
    network = DESTINATION_6[:6] + b"\xff\xff"
    own, gateway = (network + bytes(7) + bytes([host]) for host in (254, 1))
    return [
        "sysctl net.inet6.ip6.forwarding=1",
        f"address {sending} {(SOURCE_6[:8] + bytes(6) + bytes([255, 254])).hex()} 64",
        f"address {receiving} {own.hex()} 64",
        f"neighbour {receiving} {gateway.hex()} {RECEIVER.hex()}",
        f"route {DESTINATION_6.hex()} 64 {gateway.hex()}",
    ]
