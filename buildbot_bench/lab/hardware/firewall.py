"""The number of packets that the rules of a DUT's firewall have counted.

What the programs print: sbin/pfctl/pfctl.c, sbin/ipfw/ipfw2.c, sbin/ipf/ipfstat/ipfstat.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.lab.hardware.remote import Remote


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listing:
    """The command that lists rules, and where it has the packets of each."""

    command: tuple[str, ...]
    packets: re.Pattern[str]


_LISTINGS: Mapping[str, _Listing] = {
    "pf": _Listing(
        command=("pfctl", "-v", "-s", "rules"),
        packets=re.compile(r"\[ Evaluations: \d+ +Packets: (\d+) ", re.ASCII),
    ),
    # Its last rule is the kernel's own, and lo0 carries what the DUT says to itself.
    "ipfw": _Listing(
        command=("ipfw", "-a", "list"),
        packets=re.compile(
            r"^(?!65535)\d{5} +(\d+) +\d+ (?!.* via lo0\b)", re.ASCII | re.MULTILINE
        ),
    ),
    "ipf": _Listing(
        command=("ipfstat", "-hio"),
        packets=re.compile(r"^(\d+) (?:pass|block|count)\b", re.ASCII | re.MULTILINE),
    ),
}


def program_of(firewall: str) -> str:
    """The program that lists a firewall's rules."""
    return _LISTINGS[firewall].command[0]


def counted_packets(remote: Remote, firewall: str) -> int | str:
    """What all rules have counted together; or why nobody can tell."""
    listing = _LISTINGS[firewall]
    answer = remote.run(*listing.command)
    if answer.status != 0:
        return f"{firewall} does not run: {answer.complaint}"
    counts = listing.packets.findall(answer.stdout)
    return sum(map(int, counts)) if counts else f"{firewall} has no rules"
