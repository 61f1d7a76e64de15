"""A whole testbed of stand-ins, its settings, and kernels for this testbed."""

import io
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.wire import Event, Failed, Finished, Measured
from buildbot_bench.lab.driver import Budget, Request, measure
from buildbot_bench.lab.driver import Dut as Life
from buildbot_bench.lab.drivers.ssh import SshDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.settings import (
    ConsoleSettings,
    DutSettings,
    GeneratorSettings,
    Limits,
    SshSettings,
    WorkloadSettings,
)
from buildbot_bench.lab.power import CommandPower
from tests.fakes.lab_host.dut import Dut
from tests.fakes.lab_host.machines import Host, Network

LOAD_PPS = 1_466_333
ONCE = Budget(kernel_faults=1, lab_faults=1, pause_s=0.0)
USUAL = Budget(pause_s=0.0)
SENDER_MAC, RECEIVER_MAC = "0c:c4:7a:ab:29:35", "0c:c4:7a:ab:29:36"
# A busy machine must not make anything fail: tests that wait for a deadline shorten it.
LIMITS = Limits(
    connect_s=20,
    keep_alive_s=1,
    command_s=30,
    reboot_s=20,
    ready_s=10,
    poll_s=0.05,
    receiver_s=20,
    margin_s=20,
    power_cycles=2,
)


class MachineLab:
    """A DUT and a host that sends and receives, all on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.network = Network(root)
        (self.network.wire / "load").write_text(str(LOAD_PPS))
        self.dut = Dut(self.network)
        self.generator = Host(self.network, "generator", {"igb1": SENDER_MAC, "igb2": RECEIVER_MAC})
        self.generator.start_sshd()
        self.hosts = [self.generator]
        self.said: list[str] = []
        self._drivers: list[SshDriver] = []

    def close(self) -> None:
        for driver in self._drivers:
            driver.shutdown()
        for host in self.hosts:
            host.stop_sshd()
        self.dut.close()

    def settings(self, **changes: object) -> SshSettings:
        settings = SshSettings(
            ssh_config=self.network.ssh_config,
            dut=DutSettings(
                address="dut",
                mac="00:0d:b9:41:ca:3d",
                interfaces=("igb0", "igb1"),
                root=str(self.dut.directory),
            ),
            senders=(GeneratorSettings(address="generator", interface="igb1", mac=SENDER_MAC),),
            receiver=GeneratorSettings(address="generator", interface="igb2"),
            traffic=PktgenTraffic(offered_pps=LOAD_PPS, duration_s=0.5),
            workloads={
                "forwarding": WorkloadSettings(ready=(("ping", "-c", "2", "198.19.0.203"),))
            },
            power=CommandPower(
                cycle_command=("touch", str(self.dut.power_file)), status=("echo", "on")
            ),
            console=ConsoleSettings(file=self.dut.console),
            limits=LIMITS,
        )
        return replace(settings, **changes)  # type: ignore[arg-type]

    def driver(self, *, within: dict[str, float] | None = None, **changes: object) -> SshDriver:
        """`within` shortens deadlines."""
        if within is not None:
            changes["limits"] = replace(LIMITS, **within)  # type: ignore[arg-type]
        driver = SshDriver(self.settings(**changes), self.root / "home", self.said.append)
        self._drivers.append(driver)
        return driver

    def kernel(
        self, way: str = "", *, pps: int = 700_000, label: str = "r311849", more: str = ""
    ) -> Path:
        """The archive of a kernel that behaves in a certain way; `more` are sysctls of its own."""
        text = f"FreeBSD 15.0-CURRENT #0 {label}: {way}\n    root@builder:GENERIC\n"
        text += f"options\tINET\nway: {way}\npps: {pps}\n{more}"
        name = f"kernel-{label}-{way}-{pps}-{abs(hash(more))}.txz"
        return archive(self.root / name, {"boot/kernel/kernel": text})

    def run(
        self,
        kernel: Path,
        driver: SshDriver | None = None,
        *,
        iterations: int = 1,
        budget: Budget = ONCE,
    ) -> tuple[list[Measured], Finished | Failed]:
        """A whole job, without the processes and files around it."""
        request = Request(
            job="j", testbed="t", workload="forwarding", digest="", iterations=iterations
        )
        events: list[Event] = []
        life = Life(driver or self.driver(), kernel, sha256(kernel))
        last = measure(request, life, (), events.append, budget)
        return [event for event in events if isinstance(event, Measured)], last

    def pkt_gens(self) -> list[str]:
        """The command lines of every pkt-gen that was started."""
        path = self.network.wire / "calls"
        return path.read_text().splitlines() if path.exists() else []


def archive(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:xz", preset=0) as tar:
        for name, text in {**files}.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def values(measured: Sequence[Measured]) -> list[float]:
    return [event.values["pps"] for event in measured if event.values]
