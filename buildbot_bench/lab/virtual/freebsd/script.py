"""The commands for the init of a FreeBSD under test, and its answers."""

import re
from collections.abc import Sequence

from buildbot_bench.core.freebsd_releases import NEEDS
from buildbot_bench.lab.virtual.workloads import IPFW_COMMAND, PF_COMMAND, VirtualWorkload

READY = "bench: ready"
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


def commands(workload: VirtualWorkload, nic: str, settings: Sequence[str]) -> str:
    """The script for a workload: addresses, a route to the receiver, and what else is to be set.

    The DUT's ports are the network driver's first two; `settings` are NAME=VALUE.
    """
    ports = (f"{nic}0", f"{nic}1")
    lines = ["-sysctl kern.build_id", *workload.commands(*ports)]
    lines += [f"{command} {port}" for command in ("up", "link") for port in ports]
    lines += [f"sysctl {setting}" for setting in settings]
    # Once more, as the kernel's own words may have come among the first.
    lines += ["-sysctl kern.build_id", f"say {READY}"]
    return "".join(f"{line}\n" for line in lines)


def is_ready(console: str) -> bool:
    """Whether init did all it was asked to do."""
    return READY in console


def fault(console: str) -> str:
    """What keeps a kernel from being ready, for ever, in a clause; empty when nothing does."""
    if _NO_ROOT.search(console):
        return (
            "finds no root: it lacks `device md` or `options FFS`, which MINIMAL has no more since "
            f"{NEEDS['ffs'].since}"
        )
    if unlinked := _UNLINKED.search(console):
        return f"could not load a module: {unlinked[1]}"
    if failed := _FAILED.search(console):
        return f"could not do `{failed[2]}` ({_reason(int(failed[1]), failed[2])})"
    return ""


def _reason(number: int, line: str) -> str:
    """What an errno(2) of FreeBSD means for a command."""
    if line in (IPFW_COMMAND, PF_COMMAND):
        return _NO_FIREWALL.get(number, _NEWER_FIREWALL)
    return _REASONS.get(number, f"errno {number} of FreeBSD")
