"""A lab whose machines have a network namespace each, with a real tunnel between two.

ssh reaches each machine as any stand-in and runs its commands in that namespace. Forwarding is the
host kernel's; the DUT's end of the tunnel limits it to the speed of the kernel under test.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from buildbot_bench.lab.hardware.settings import (
    ConsoleSettings,
    DutSettings,
    GeneratorSettings,
    ReferenceSettings,
    SshSettings,
    WorkloadSettings,
)
from tests.fakes.lab_host.bench import LOAD_PPS, MachineLab
from tests.fakes.lab_host.dut import Dut
from tests.fakes.lab_host.machines import Host, Network

NET = Path(__file__).parent / "net"
DUT_PORTS = {"igb1": "00:0d:b9:45:7a:d5", "igb2": "00:0d:b9:45:7a:d6"}
REFERENCE_PORTS = {"igb1": "0c:c4:7a:da:3c:11", "igb2": "0c:c4:7a:da:3c:12"}
SENDER, RECEIVER = {"igb1": "0c:c4:7a:ab:29:35"}, {"igb2": "0c:c4:7a:ab:29:36"}
ADDRESSES = {
    "dut": 'ifconfig_igb1="inet 198.18.0.205/24"\nifconfig_igb2="inet 198.18.1.205/24"\n',
    "reference": 'ifconfig_igb1="inet 198.18.1.203/24"\nifconfig_igb2="inet 198.19.0.201/24"\n',
}
SENDING = 'ifconfig_igb1="inet 198.18.0.203/24"\n'
RECEIVING = """\
ifconfig_igb2="inet 198.19.0.203/24"
static_routes="back"
route_back="-net 198.18.0.0/16 198.19.0.201"
"""


def can_make_namespaces() -> bool:
    """Whether this machine lets its users have namespaces and taps of their own."""
    if any(shutil.which(program) is None for program in ("unshare", "nsenter", "ip")):
        return False
    script = "ip tuntap add dev t0 mode tap"
    return subprocess.run(["unshare", "-Urn", "sh", "-c", script], check=False).returncode == 0


class RealMachine(Dut):
    """A machine that sets its network up by rc.conf as it boots, and forgets it as it goes down."""

    def _power_on(self) -> None:
        self._end_tunnels()
        super()._power_on()

    def _come_up(self, text: str) -> None:
        found = re.search(r"^pps: (\d+)", text, re.MULTILINE)
        start_network(self, pps=int(found[1]) if found else LOAD_PPS)
        super()._come_up(text)

    def close(self) -> None:
        super().close()
        self._end_tunnels()

    def _end_tunnels(self) -> None:
        path = self.directory / "run/tunnels"
        for pid in path.read_text().split() if path.exists() else []:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        path.unlink(missing_ok=True)


def start_network(machine: Host, *, pps: int = LOAD_PPS) -> None:
    """Run rc(8) in the machine's namespace."""
    pid = (machine.directory / "run/netns").read_text().strip()
    ports = [path.name for path in sorted((machine.directory / "ports").iterdir())]
    enter = ["nsenter", "--preserve-credentials", "-U", "-n", "-t", pid]
    environment = {"LAB_HOST": str(machine.directory), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    command = [*enter, str(NET / "rc"), str(pps), str(LOAD_PPS), *ports]
    subprocess.run(command, check=True, env=environment)


class TunnelLab(MachineLab):
    """A sender, a DUT, the other end of its tunnel, and a receiver, on three machines or four."""

    def __init__(self, root: Path, *, nodes: int) -> None:
        self.root = root
        self.network = Network(root)
        (self.network.wire / "load").write_text(str(LOAD_PPS))
        self.said: list[str] = []
        self._drivers = []
        ends = {"generator": SENDER | RECEIVER} if nodes == 3 else {"tx": SENDER, "rx": RECEIVER}
        self._sender, self._receiver = next(iter(ends)), list(ends)[-1]
        self._wires = self._cable(ends)
        try:
            self.hosts = [Host(self.network, name, ports) for name, ports in ends.items()]
            for host, text in zip(self.hosts, self._own(nodes), strict=True):
                (host.directory / "etc/rc.conf").write_text(text)
                start_network(host)
                host.start_sshd()
            self.reference = self._machine("reference", REFERENCE_PORTS)
            self.dut = self._machine("dut", DUT_PORTS)
        except BaseException:
            self._wires.kill()
            raise

    def close(self) -> None:
        super().close()
        self.reference.close()
        self._wires.kill()
        self._wires.wait()

    def settings(self, **changes: object) -> SshSettings:
        usual = WorkloadSettings(ready=(("ping", "-c", "2", "198.18.1.203"),))
        settings = replace(
            super().settings(),
            dut=DutSettings(
                address="dut",
                mac=DUT_PORTS["igb1"],
                interfaces=("igb1", "igb2"),
                root=str(self.dut.directory),
            ),
            senders=(
                GeneratorSettings(address=self._sender, interface="igb1", mac=SENDER["igb1"]),
            ),
            receiver=GeneratorSettings(address=self._receiver, interface="igb2"),
            reference=ReferenceSettings(address="reference", root=str(self.reference.directory)),
            console=ConsoleSettings(file=self.dut.console),
            workloads={"plain": usual},
        )
        return replace(settings, **changes)  # type: ignore[arg-type]

    def _machine(self, name: str, ports: Mapping[str, str]) -> RealMachine:
        directory = self.root / name / "etc"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "rc.conf").write_text(ADDRESSES[name])
        return RealMachine(self.network, name=name, ports=ports)

    def _own(self, nodes: int) -> list[str]:
        return [SENDING + RECEIVING] if nodes == 3 else [SENDING, RECEIVING]

    def _cable(self, ends: Mapping[str, Mapping[str, str]]) -> subprocess.Popen[str]:
        machines = {**ends, "dut": DUT_PORTS, "reference": REFERENCE_PORTS}
        for name in machines:
            (self.root / name / "run").mkdir(parents=True)
        spec = {
            "root": str(self.root),
            "machines": machines,
            "cables": [
                [f"{self._sender}/igb1", "dut/igb1"],
                ["dut/igb2", "reference/igb1"],
                ["reference/igb2", f"{self._receiver}/igb2"],
            ],
        }
        wires = subprocess.Popen(
            ["unshare", "-Ur", sys.executable, "-IS", str(NET / "wires"), json.dumps(spec)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert wires.stdout is not None
        assert wires.stdout.readline() == "ready\n"
        return wires
