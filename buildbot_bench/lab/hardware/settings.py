"""The settings of a hardware testbed in testbeds.toml."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.hardware.flows import LatencySettings, PktgenTraffic
from buildbot_bench.lab.loss_search import LossSettings
from buildbot_bench.lab.power import Power
from buildbot_bench.lab.tables import LocalCommand

_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,250}", re.ASCII)
_INTERFACE = re.compile(r"[A-Za-z][A-Za-z0-9_.{}-]{0,30}", re.ASCII)
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII | re.IGNORECASE)
_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,100}", re.ASCII)
_EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_.,=-]{0,100}", re.ASCII)
_DIRECTORY = re.compile(r"/[A-Za-z0-9_./-]{0,200}", re.ASCII)

Command = tuple[str, ...]
FIREWALLS = ("ipf", "ipfw", "pf")


@dataclass(frozen=True, kw_only=True, slots=True)
class SliceSettings:
    """The two slices of a nanobsd that is measured as whole images.

    `known_good` and `under_test` are the devices that / is mounted from, as `mount -p` tells them.
    `upgrade` is a command that writes an image, which it gets uncompressed on its standard input,
    to the slice that does not run; BSDRP has one. `boot_once` are commands, run on the DUT, after
    which it boots `under_test` once; without one it boots what `upgrade` chose. After those of
    `go_back` it boots `known_good`.
    """

    known_good: str
    under_test: str
    upgrade: Command = ()
    boot_once: tuple[Command, ...] = ()
    go_back: tuple[Command, ...] = ()

    def __post_init__(self) -> None:
        for device in (self.known_good, self.under_test):
            _check(_DIRECTORY, "slices", device)
        if self.known_good == self.under_test:
            raise UsageError("slices: known_good and under_test are the same device")


@dataclass(frozen=True, kw_only=True, slots=True)
class BootEnvironmentSettings:
    """The boot environments of a DUT whose root is on ZFS, as `bectl list` names them.

    `under_test` is destroyed, and cloned from `known_good`, by each job; `known_good` is what the
    pool's bootfs is.
    """

    known_good: str = "default"
    under_test: str = "bench"

    def __post_init__(self) -> None:
        for key, name in (("known_good", self.known_good), ("under_test", self.under_test)):
            _check(_ENVIRONMENT, key, name)
        if self.known_good == self.under_test:
            raise UsageError(
                "boot_environments: known_good and under_test are the same environment"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class DutSettings:
    """The machine that boots kernels and forwards.

    `address` is where ssh reaches it, a name or a Host of `ssh_config`; `mac` is that of its port
    on the sender's side; `interfaces` are its lab ports; `root` is where its file system begins,
    for one that lives in a directory; `known_good` is the kernel it falls back to. With `slices`
    an artefact is a whole image of nanobsd, else it is a kernel; with `boot_environments` that
    kernel has one to itself, else it lies beside the known-good one and nextboot(8) chooses it.

    `nanobsd` has its root read-only and /etc in memory, which `save_config` is the command to keep.
    `bsdrp` is the nanobsd that has commands of its own for that and for images.
    """

    address: str = ""
    mac: str = ""
    interfaces: tuple[str, ...] = ()
    bsdrp: bool = False
    nanobsd: bool = False
    save_config: Command = ()
    root: str = "/"
    known_good: str = "kernel"
    slices: SliceSettings | None = None
    boot_environments: BootEnvironmentSettings | None = None

    def __post_init__(self) -> None:
        if self.boot_environments is not None and (self.slices is not None or self.is_nanobsd):
            raise UsageError(
                "a DUT has slices or boot_environments, and nanobsd none of the latter"
            )
        _check(_ADDRESS, "address", self.address)
        _check(_MAC, "mac", self.mac)
        for name in self.interfaces:
            _check(_INTERFACE, "interfaces", name)

    def path(self, path: str) -> str:
        """A path of the DUT's, which is given without its leading slash."""
        return f"{self.root.rstrip('/')}/{path}"

    @property
    def is_nanobsd(self) -> bool:
        """Whether its root is read-only and its /etc in memory."""
        return self.nanobsd or self.bsdrp

    @property
    def saving(self) -> Command:
        """The command that keeps /etc over a reboot; empty where there is none, or none is needed.

        `config save` is BSDRP's: elsewhere config(8) configures kernels.
        """
        return self.save_config or (("config", "save") if self.bsdrp else ())

    @property
    def upgrading(self) -> Command:
        """The command that writes an image; empty where there is none."""
        own = self.slices.upgrade if self.slices is not None else ()
        return own or (("upgrade",) if self.bsdrp else ())

    @property
    def upgrade_log(self) -> str:
        """What BSDRP's `upgrade` logs when it is done; another command's status must do."""
        return "Upgrade complete" if self.upgrading == ("upgrade",) else ""

    @property
    def known_good_file(self) -> str:
        """What kern.bootfile says when the known-good kernel runs."""
        return f"/boot/{self.known_good}/kernel"


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratorSettings:
    """One end of the traffic: a port of a host, and what its pkt-gen is given besides.

    Two senders may be on one host. `flags` are such as `-p 4`, `-T 2000`, `-U`.
    """

    address: str = ""
    interface: str = ""
    mac: str = ""
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(_ADDRESS, "address", self.address)
        _check(_INTERFACE, "interface", self.interface)
        _check(_MAC, "mac", self.mac)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceSettings:
    """The other end of a tunnel; it has its own part of a workload's configuration set."""

    address: str
    root: str = "/"

    def __post_init__(self) -> None:
        _check(_ADDRESS, "address", self.address)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadSettings:
    """Named traffic and the DUT's configuration set.

    `configs` is a directory that is copied verbatim over the DUT's root, and taken off again before
    the next workload, which may have none; or it holds `dut/`, and `reference/` for a reference
    endpoint. Its file `workload.toml` may say the other keys. The DUT is ready when each command of
    `ready`, run on it, succeeds; with a `firewall`, when a rule of that one has counted packets
    meanwhile as well. `traffic` stands in for the testbed's. With `loss` the workload's value is
    the rate at which no packet is lost, up to the traffic's `offered_pps`; with `latency` packets
    are timed at shares of that rate, or at rates that it tells.
    """

    FILE_IN: ClassVar = ("configs", "workload.toml")

    configs: Path | None = None
    ready: tuple[Command, ...] = ()
    firewall: str = ""
    traffic: PktgenTraffic | None = None
    loss: LossSettings | None = None
    latency: LatencySettings | None = None

    def __post_init__(self) -> None:
        if self.latency is not None and self.loss is None and not self.latency.rates_pps:
            raise UsageError(
                "latency has no rate to take shares of",
                hint="add loss = {}, or write latency = {rates_pps = [100_000]}",
            )
        if self.firewall and self.firewall not in FIREWALLS:
            known = ", ".join(FIREWALLS)
            raise UsageError(f"firewall: {quoted(self.firewall, columns=40)} is none of {known}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsoleSettings:
    """How the DUT's console is read: a command of the lab controller, or a log that grows there."""

    command: LocalCommand = ()
    file: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileSettings:
    """How it is seen where the DUT's cycles go, by hwpmc(4).

    `event` is the counter that pmcstat(8) samples: BU_CPU_CLK_UNHALTED on an APU2,
    cpu_clk_unhalted.thread_p on a Xeon; see `pmccontrol -L`. `directory`, on the DUT, has room for
    the capture; with `mount` it is mounted for it, as /data of nanobsd is. With a `share` a
    workload with `loss` is sampled at that share of its rate without loss, which is found first.
    """

    event: str
    duration_s: float = 20.0
    directory: str = "/tmp"  # noqa: S108 - the DUT's, where nobody but we log in
    mount: bool = False
    share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UsageError(f"share: {self.share:g} is not in 0..1")
        _check(_EVENT, "event", self.event)
        _check(_DIRECTORY, "directory", self.directory)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long is waited, in seconds, and how often the power is taken away in one boot.

    A host whose ssh answers no keep-alive for three times `keep_alive_s` is gone. A receiver that
    is to count to the end has `drain_s` for it.
    """

    connect_s: float = 15.0
    keep_alive_s: float = 5.0
    command_s: float = 60.0
    transfer_s: float = 900.0
    reboot_s: float = 300.0
    ready_s: float = 120.0
    poll_s: float = 2.0
    receiver_s: float = 30.0
    margin_s: float = 30.0
    drain_s: float = 10.0
    power_cycles: int = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class SshSettings:
    """A whole testbed. `ssh_config` is a file for ssh's -F: ports, users, keys, jump hosts.

    `share_connections` has short commands share one connection per host (ControlMaster).
    """

    ssh_config: Path | None = None
    share_connections: bool = True
    dut: DutSettings = field(default_factory=DutSettings)
    senders: tuple[GeneratorSettings, ...] = ()
    receiver: GeneratorSettings = field(default_factory=GeneratorSettings)
    reference: ReferenceSettings | None = None
    traffic: PktgenTraffic = field(default_factory=PktgenTraffic)
    workloads: dict[str, WorkloadSettings] = field(default_factory=dict)
    power: Power | None = None
    profile: ProfileSettings | None = None
    console: ConsoleSettings = field(default_factory=ConsoleSettings)
    limits: Limits = field(default_factory=Limits)

    def traffic_of(self, workload: str) -> PktgenTraffic:
        """The traffic of a workload: its own, or the testbed's; at most so much, if it is paced."""
        own = self.workloads[workload]
        traffic = own.traffic or self.traffic
        return traffic if own.loss is None else replace(traffic, paced=True)

    def transmit(self, traffic: PktgenTraffic, sender: int) -> list[str]:
        """The command of a sender, counted from 0, its own flags last."""
        end = self.senders[sender]
        command = traffic.transmit(
            end.interface,
            mac=end.mac,
            dut_mac=self.dut.mac,
            sender=sender,
            of=len(self.senders),
        )
        return [*command, *end.flags]

    def receive(self, traffic: PktgenTraffic) -> list[str]:
        """The receiver's command."""
        return [*traffic.receive(self.receiver.interface), *self.receiver.flags]


def _check(pattern: re.Pattern[str], key: str, text: str) -> None:
    if text and not pattern.fullmatch(text):
        raise UsageError(
            f"{key}: {quoted(text, columns=60)} cannot be one", hint=f"it is like {_LIKE[key]}"
        )


_LIKE = {
    "address": "apu2.lab.example.org",
    "interface": "igb1",
    "interfaces": "igb1",
    "mac": "0c:c4:7a:ab:29:35",
    "event": "cpu_clk_unhalted.thread_p",
    "directory": "/data",
    "slices": "/dev/ufs/BSDRPs2a",
    "known_good": "default",
    "under_test": "bench",
}
