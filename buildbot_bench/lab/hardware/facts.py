"""Facts of the machines that a measurement depends on besides the kernel."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import DutSettings, SshSettings

_FILES = (
    *("boot/loader.conf", "boot/loader.conf.local", "etc/sysctl.conf", "etc/sysctl.conf.local"),
    *("etc/rc.conf", "etc/rc.conf.local", "etc/rc.conf.misc"),
)
_SHORT = 12  # hexadecimal digits by which a digest is told, as everywhere in the project
_LONGEST = 400  # characters of a fact: FreeBSD's uname -a has some 250
EMULATED = "generic: emulated, which shows that something is slower and not by how much"
"""What `kern.vm_guest` means that is "generic": a hypervisor that nobody knows, as QEMU's own."""
_DIGEST = 64  # hexadecimal digits of a SHA-256
# Each fact is one line; a command that a machine does not have gives none.
_DUT_SCRIPT = """
root=$1; shift
fact() {
    name=$1; shift
    printf '%s\\t%s\\n' "$name" "$("$@" 2>/dev/null | head -n 1)"
}
configuration() {
    text=$(sysctl -n kern.conftxt) && [ -n "$text" ] || return
    digest=$(printf '%s' "$text" | sha256 -q | cut -c 1-12)
    echo "$(sysctl -n kern.ident) $digest"
}
guest() {
    kind=$(sysctl -n kern.vm_guest)
    [ "$kind" = none ] || echo "$kind"
}
fact uname uname -a
fact 'kernel configuration' configuration
fact dut hostname
fact cpu sysctl -n hw.model
fact 'virtual machine' guest
fact cpus sysctl -n hw.ncpu
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
_FALLBACK_SCRIPT = """
printf 'known-good kernel\\t%s\\n' "$(sha256 -q "$1" 2>/dev/null)"
printf 'userland\\t%s\\n' "$(freebsd-version -u 2>/dev/null)"
"""
_HOST_SCRIPT = """
printf 'host\\t%s\\n' "$(hostname)"
printf 'system\\t%s\\n' "$(uname -v)"
"""
_GENERATOR_SCRIPT = f"""{_HOST_SCRIPT}
printf 'pkt-gen\\t%s\\n' "$(sha256 -q "$(command -v "$1")" 2>/dev/null)"
"""


def testbed_facts(
    settings: SshSettings, reach: Callable[[str], Remote], workload: str
) -> dict[str, str]:
    """What a testbed's measurements depend on with any kernel; asks each machine once."""
    traffic = settings.traffic_of(workload)
    facts = fallback_facts(reach(settings.dut.address), settings.dut)
    facts |= load_facts(settings, traffic)
    facts |= set_facts(workload, settings.workloads[workload].configs)
    if settings.reference is not None:
        told = _tell(reach(settings.reference.address), _HOST_SCRIPT)
        facts |= {f"reference {name}": _short("", told[name]) for name in told if told[name]}
    for number, sender in enumerate(settings.senders):
        facts |= generator_facts(reach(sender.address), f"sender {number}", traffic)
    return facts | generator_facts(reach(settings.receiver.address), "receiver", traffic)


def fallback_facts(remote: Remote, dut: DutSettings) -> dict[str, str]:
    """The known-good kernel, by its file, and the userland that all kernels under test share.

    Neither depends on what the last job left running. A whole image brings its own of either.
    """
    if dut.slices is not None:
        return {}
    told = _tell(remote, _FALLBACK_SCRIPT, dut.path(dut.known_good_file.lstrip("/")))
    facts = {name: value[:_SHORT] if _is_digest(value) else value for name, value in told.items()}
    return {name: value for name, value in facts.items() if value}


def dut_facts(remote: Remote, dut: DutSettings) -> dict[str, str]:
    """The machine, its processor, microcode, ports and firmware, and digests of its settings.

    As the booted kernel reports them: its drivers name the ports, and its boot read the settings.
    """
    root = dut.root.rstrip("/")
    facts = _tell(remote, _DUT_SCRIPT.replace("@files@", " ".join(_FILES)), root, *dut.interfaces)
    return {name: _short(name, value) for name, value in facts.items() if value}


def generator_facts(remote: Remote, role: str, traffic: PktgenTraffic) -> dict[str, str]:
    """A sender's or the receiver's host, its system, and the digest of its pkt-gen."""
    told = _tell(remote, _GENERATOR_SCRIPT, traffic.pkt_gen)
    return {f"{role} {name}": _short("/", value) for name, value in told.items() if value}


def set_facts(workload: str, configs: Path | None) -> dict[str, str]:
    """Which configuration set is put on, by the digest of its files; a workload may have none."""
    if configs is None:
        return {"configuration": f"{workload}, as the DUT is set up"}
    digest = hashlib.sha256()
    for path in sorted(configs.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(configs)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return {"configuration": f"{workload} {digest.hexdigest()[:_SHORT]}"}


def load_facts(settings: SshSettings, traffic: PktgenTraffic) -> dict[str, str]:
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
    pairs = (line.partition("\t") for line in remote.script(script, *arguments).splitlines())
    return {name: value.strip() for name, tab, value in pairs if tab}


def _short(name: str, value: str) -> str:
    """A digest is long, and begins by what tells it from others."""
    if (name, value) == ("virtual machine", "generic"):
        return EMULATED
    return value[:_SHORT] if name.startswith("/") and _is_digest(value) else value[:_LONGEST]


def _is_digest(text: str) -> bool:
    return len(text) == _DIGEST and set(text) <= set("0123456789abcdef")
