"""The traffic of a workload, and pkt-gen's command lines for it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.latency import LatencySettings

# How many addresses send and how many receive; a flow is a pair of them.
PRESETS: Mapping[str, tuple[int, int]] = {"1": (1, 1), "2k": (20, 100), "5k": (71, 70)}
_BASES = {
    "inet": ("198.18.10.1", "198.19.10.1"),
    "inet6": ("2001:2:0:10::1", "2001:2:0:8010::1"),
}
_FLAGS = {"inet": "-4", "inet6": "-6"}
_FAMILIES = (*_BASES, "dual")
_RANGE = re.compile(r"[0-9a-fA-F.:\[\]-]{3,200}", re.ASCII)
_IPV4 = 4  # of ipaddress: the version of an address
_CRC_BYTES = 4  # that Ethernet appends to a frame
_LEAST_BYTES = {"inet": 64, "inet6": 66}  # Ethernet, IP and UDP headers, and the CRC
_PREAMBLE_AND_GAP_BYTES = 20  # of Ethernet, around each frame: 8 and 12
_PORT = 2001  # of UDP, at both ends; that of the archive's configurations


@dataclass(frozen=True, kw_only=True, slots=True)
class PktgenTraffic:
    """What is sent, how fast and how long.

    `frame_bytes` counts the CRC, as RFC 2544 does. `offered_pps` is what all senders together
    bring about with the smallest frames; `link_mbps` is the speed of the DUT's ports. A family
    `dual` gives the senders IPv4 and IPv6 in turn. `sources` and `destinations` are pkt-gen's own
    ranges, instead of a preset's; `wait_link_s` is how long pkt-gen waits for its port. Senders
    that are `paced` hold their rate by themselves; others send as fast as they can.
    """

    flows: str = "2k"
    family: str = "inet"
    frame_bytes: int = 64
    offered_pps: float = 0.0
    link_mbps: float = 1000.0
    duration_s: float = 30.0
    wait_link_s: int = 2
    sources: str = ""
    destinations: str = ""
    pkt_gen: str = "pkt-gen"
    paced: bool = False

    def __post_init__(self) -> None:
        if self.flows not in PRESETS:
            raise UsageError(f"flows: {quoted(self.flows)} is none of {', '.join(PRESETS)}")
        if self.family not in _FAMILIES:
            raise UsageError(f"family: {quoted(self.family)} is none of {', '.join(_FAMILIES)}")
        if self.frame_bytes not in range(64, 9019):
            raise UsageError(f"frame_bytes: {self.frame_bytes} is not in 64..9018")
        if bool(self.sources) != bool(self.destinations):
            raise UsageError("sources and destinations go together")
        for text in (self.sources, self.destinations):
            if text and not _RANGE.fullmatch(text):
                raise UsageError(
                    f"{quoted(text, columns=60)} is no range", hint="see pkt-gen(8), -s and -d"
                )

    @property
    def line_rate_pps(self) -> float:
        """What the link can carry of these frames, in packets per second."""
        on_the_wire_bytes = self.frame_bytes + _PREAMBLE_AND_GAP_BYTES
        return self.link_mbps * 1e6 / (8 * on_the_wire_bytes)

    @property
    def load_pps(self) -> float:
        """What the senders bring about together with frames of this size."""
        return min(self.offered_pps, self.line_rate_pps)

    def ranges(self, family: str) -> tuple[str, str]:
        """pkt-gen's -s and -d."""
        if self.sources:
            return self.sources, self.destinations
        source, destination = _BASES[family]
        sending, receiving = PRESETS[self.flows]
        return _range(source, sending), _range(destination, receiving)

    def packets(self, senders: int) -> int:
        """How many packets one of several senders sends."""
        return round(self.load_pps * self.duration_s / senders)

    def transmit(
        self, interface: str, *, mac: str, dut_mac: str, sender: int, of: int
    ) -> list[str]:
        """The command of one sender of several."""
        family = ("inet", "inet6")[sender % 2] if self.family == "dual" else self.family
        source, destination = self.ranges(family)
        length = max(self.frame_bytes, _LEAST_BYTES[family]) - _CRC_BYTES
        command = [self.pkt_gen, "-N", "-f", "tx", "-i", interface, "-n", str(self.packets(of))]
        command += ["-l", str(length), _FLAGS[family], "-d", destination, "-D", dut_mac]
        command += ["-s", source, "-S", mac, "-w", str(self.wait_link_s)]
        return [*command, "-R", str(max(1, round(self.load_pps / of)))] if self.paced else command

    def ping(self, *, mac: str, dut_mac: str, latency: LatencySettings) -> list[str]:
        """The first sender's command that times one packet after the other, less its port.

        Each of its frames is stamped at byte 46, where IPv4's payload is and IPv6's address.
        """
        length = max(self.frame_bytes, _LEAST_BYTES["inet"]) - _CRC_BYTES
        count = round(latency.pings_pps * latency.duration_s)
        command = [self.pkt_gen, "-N", "-f", "ping", "-n", str(count), "-l", str(length), "-4"]
        command += ["-d", latency.destination, "-D", dut_mac, "-s", latency.source, "-S", mac]
        return [*command, "-w", str(self.wait_link_s), "-R", str(round(latency.pings_pps))]

    def receive(self, interface: str) -> list[str]:
        """The receiver's command; it ends by itself when the traffic does."""
        return [self.pkt_gen, "-N", "-f", "rx", "-i", interface, "-w", str(self.wait_link_s), "-W"]


def _range(first: str, count: int) -> str:
    """`198.18.10.1:2001-198.18.10.20`, or `[2001:2:0:10::1]-[2001:2:0:10::14]`."""
    start = ip_address(first)
    end = start + (count - 1)
    if start.version == _IPV4:
        return f"{start}:{_PORT}-{end}"
    return f"[{start}]-[{end}]"
