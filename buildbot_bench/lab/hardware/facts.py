"""What a measurement depends on besides the kernel, as the machines tell it; it compares nothing.

Files that a workload's configuration set brings along count as it brings them; the others as they
lie on the DUT.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.flows import Traffic
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import DutSettings, SshSettings

_FILES = (
    *("boot/loader.conf", "boot/loader.conf.local", "etc/sysctl.conf", "etc/sysctl.conf.local"),
    *("etc/rc.conf", "etc/rc.conf.local", "etc/rc.conf.misc"),
)
_SHORT = 12
# Each fact is one line; a command that a machine does not have gives none.
_DUT_SCRIPT = """
root=$1; shift
fact() {
    name=$1; shift
    printf '%s\\t%s\\n' "$name" "$("$@" 2>/dev/null | head -n 1)"
}
fact dut hostname
fact cpu sysctl -n hw.model
fact cpus sysctl -n hw.ncpu
fact base uname -v
kldload -n cpuctl 2>/dev/null
fact microcode cpucontrol -m 0x8b /dev/cpuctl0
for file in @files@; do
    fact "/$file" sha256 -q "$root/$file"
done
for nic in "$@"; do
    driver=${nic%%[0-9]*}; unit=${nic#"$driver"}
    fact "$nic" sysctl -n "dev.$driver.$unit.%desc"
    fact "$nic firmware" sysctl -n "dev.$driver.$unit.fw_version"
done
"""
_GENERATOR_SCRIPT = """
printf 'host\\t%s\\n' "$(hostname)"
printf 'system\\t%s\\n' "$(uname -v)"
printf 'pkt-gen\\t%s\\n' "$(sha256 -q "$(command -v "$1")" 2>/dev/null)"
"""


def testbed_facts(
    settings: SshSettings, reach: Callable[[str], Remote], workload: str
) -> dict[str, str]:
    """All that a workload's measurements on a testbed depend on; asks each machine once."""
    traffic = settings.traffic_of(workload)
    dut = reach(settings.dut.address)
    facts = dut_facts(dut, settings.dut, settings.workloads[workload].configs)
    facts |= load_facts(settings, traffic)
    for number, sender in enumerate(settings.senders):
        facts |= generator_facts(reach(sender.address), f"sender {number}", traffic)
    return facts | generator_facts(reach(settings.receiver.address), "receiver", traffic)


def dut_facts(remote: Remote, dut: DutSettings, configs: Path | None) -> dict[str, str]:
    """The machine, its processor, microcode, ports and firmware, and digests of its settings."""
    root = dut.root.rstrip("/")
    facts = _tell(remote, _DUT_SCRIPT.replace("@files@", " ".join(_FILES)), root, *dut.interfaces)
    for name in _FILES:
        uploaded = None if configs is None else configs / name
        if uploaded is not None and uploaded.is_file():
            facts[f"/{name}"] = sha256(uploaded)
    return {name: _short(name, value) for name, value in facts.items() if value}


def generator_facts(remote: Remote, role: str, traffic: Traffic) -> dict[str, str]:
    """A sender's or the receiver's host, its system, and the digest of its pkt-gen."""
    told = _tell(remote, _GENERATOR_SCRIPT, traffic.pkt_gen)
    return {f"{role} {name}": _short("/", value) for name, value in told.items() if value}


def load_facts(settings: SshSettings, traffic: Traffic) -> dict[str, str]:
    """What is offered, by which command lines."""
    commands = {
        f"sender {n} command": " ".join(settings.transmit(traffic, n))
        for n in range(len(settings.senders))
    }
    return {
        "offered load": f"{traffic.load_pps:.0f} pps",
        "line rate": f"{traffic.line_rate_pps:.0f} pps",
        "duration": f"{traffic.duration_s:g} s",
        **commands,
    }


def _tell(remote: Remote, script: str, *arguments: str) -> dict[str, str]:
    """By standard input: a csh(1), root's shell for long, takes no word of several lines."""
    with tempfile.TemporaryFile() as file:
        file.write(script.encode())
        file.seek(0)
        lines = remote.need("sh", "-s", "--", *arguments, stdin=file).splitlines()
    pairs = (line.partition("\t") for line in lines)
    return {name: value.strip() for name, tab, value in pairs if tab}


def _short(name: str, value: str) -> str:
    """A digest is long, and begins by what tells it from others."""
    return value[:_SHORT] if name.startswith("/") and _is_digest(value) else value[:200]


def _is_digest(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
