"""The settings of a virtual testbed in testbeds.toml, and its workloads."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from buildbot_bench import installed
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.tables import Program
from buildbot_bench.lab.virtual.bursts import (
    DESTINATION_4,
    DESTINATION_6,
    IPV4,
    IPV6,
    RECEIVER,
    SOURCE_4,
    SOURCE_6,
    BurstTraffic,
)

PPS = "pps"
INSTRUCTIONS = "instructions/packet"
MULTIBOOT, FREEBSD = "multiboot", "freebsd"
_METRICS = (PPS, INSTRUCTIONS)
_ACCELERATORS = ("tcg", "auto")
_QEMU = Program("qemu-system-x86_64")
_SYSTEMS = (MULTIBOOT, FREEBSD)
_NICS = {"em": "82540EM", "vtnet": "virtio-net"}
_ICOUNT = re.compile(r"shift=\d{1,2},sleep=(on|off)")
_SETTING = re.compile(r"[A-Za-z0-9_.%-]{1,120}=[ -~]{0,120}")
_MODULE = re.compile(r"[A-Za-z0-9_]{1,60}")
_NO_TIME = "QEMU's time is not a machine's: rates without loss and latencies take driver = \"ssh\""
# Of each system, when nothing else is said. Toy kernels need 4 MiB and a second; FreeBSD 13.1
# (MINIMAL) booted in 1.6 s of its own, by an emulated processor on a busy machine in some 10 s.
_MEMORY_MIB = {MULTIBOOT: 64, FREEBSD: 256}
_LEAST_MIB = {MULTIBOOT: 1, FREEBSD: 128}  # a loader and what it loads
# A toy has no clock, and a ring of 256: four bursts of 64 are each of its slots once.
_COUNTED = {MULTIBOOT: 4, FREEBSD: None}
_BOOT_S = {MULTIBOOT: 15.0, FREEBSD: 90.0}  # chosen: several times what a busy machine took
# A kernel without a clock sleeps for nobody's time; a clock that ticks while it sleeps needs time
# to pass as it does outside, or else it ticks for ever. A burst of FreeBSD's takes 0.9 ms at 4 ns
# an instruction; at 16 ns it meets four times as many ticks, at 1 ns a boot takes twice as long.
_CLOCK = {MULTIBOOT: "shift=0,sleep=off", FREEBSD: "shift=2,sleep=on"}


@dataclass(frozen=True, kw_only=True, slots=True)
class QemuSettings:
    """One virtual machine, and what is counted on it.

    `system` is what it boots: "multiboot", a program that QEMU itself boots, or "freebsd", a kernel
    archive or a kernel for amd64. `nic` is "em" (Intel 82540EM) or "vtnet" (virtio). `kenv` and
    `sysctls` (NAME=VALUE) are set at each boot of a FreeBSD, `modules` are those of its archive
    that are loaded with the kernel.

    `metric` is "pps" or "instructions/packet". The former is taken from `bursts` bursts of 64
    packets, the latter from all that is executed for `traced_bursts` of them, or, where that is not
    said and the system has a clock, from what bursts usually execute (`bursts.usual`). Meanwhile a
    clock runs as QEMU's `icount` says.
    `accelerator` is "tcg", or "auto": KVM if a boot shows that it works, for pps only.
    `known_good` is a kernel that works; without it, the last one that forwarded here is taken.
    `boot_timeout_s` is how long a kernel may take until it forwards, `stall_s` how long a packet
    may stay away.
    """

    REFUSED: ClassVar = {"loss": _NO_TIME, "latency": _NO_TIME, "workloads": _NO_TIME}

    program: Program = _QEMU
    system: str = MULTIBOOT
    nic: str = "em"
    kenv: tuple[str, ...] = ()
    sysctls: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    memory_mib: int | None = None
    metric: str = PPS
    icount: str | None = None
    accelerator: str = "tcg"
    known_good: Path | None = None
    bursts: int = 1500
    traced_bursts: int | None = None
    boot_timeout_s: float | None = None
    stall_s: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        _require_one_of("metric", self.metric, _METRICS)
        _require_one_of("accelerator", self.accelerator, _ACCELERATORS)
        _require_one_of("system", self.system, _SYSTEMS)
        _require_one_of("nic", self.nic, tuple(_NICS))
        if min(self.bursts, self.ram_mib, 1 if self.counted is None else self.counted) < 1:
            raise UsageError("bursts, traced_bursts and memory_mib must be above zero")
        if self.ram_mib < _LEAST_MIB[self.system]:
            raise UsageError(
                f"memory_mib is {self.ram_mib}", hint=f"give it {_LEAST_MIB[self.system]} or more"
            )
        if self.exact and self.accelerator != "tcg":
            raise UsageError(
                "instructions are counted by QEMU's translator alone", hint='accelerator = "tcg"'
            )
        if not _ICOUNT.fullmatch(self.clock):
            raise UsageError(f"icount is {quoted(self.clock)}", hint='write "shift=4,sleep=on"')
        self._check_freebsd()

    @property
    def exact(self) -> bool:
        """Whether instructions are counted, which repeats to the digit."""
        return self.metric == INSTRUCTIONS

    @property
    def ram_mib(self) -> int:
        """The machine's memory in MiB."""
        return _MEMORY_MIB[self.system] if self.memory_mib is None else self.memory_mib

    @property
    def counted(self) -> int | None:
        """Of how many bursts all is counted; None where what they usually execute is."""
        return _COUNTED[self.system] if self.traced_bursts is None else self.traced_bursts

    @property
    def boot_limit_s(self) -> float:
        """How long a boot may take, in seconds."""
        return _BOOT_S[self.system] if self.boot_timeout_s is None else self.boot_timeout_s

    @property
    def ports(self) -> str:
        """What its network ports are, in words."""
        return f"two {_NICS[self.nic]}"

    @property
    def clock(self) -> str:
        """QEMU's -icount while instructions are counted."""
        return _CLOCK[self.system] if self.icount is None else self.icount

    def _check_freebsd(self) -> None:
        """What is FreeBSD's is said of a FreeBSD only, and is what it looks like."""
        for key, texts, form in (
            ("kenv", self.kenv, _SETTING),
            ("sysctls", self.sysctls, _SETTING),
            ("modules", self.modules, _MODULE),
        ):
            if texts and self.system != FREEBSD:
                raise UsageError(f"{key} is FreeBSD's", hint=f'system = "{FREEBSD}"')
            for text in texts:
                if not form.fullmatch(text):
                    wanted = "a module's name" if form is _MODULE else "NAME=VALUE"
                    raise UsageError(f"{key}: {quoted(text, columns=120)}", hint=f"write {wanted}")


def _require_one_of(key: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{key} is {quoted(value)}", hint=f"it may be {' or '.join(known)}")


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
