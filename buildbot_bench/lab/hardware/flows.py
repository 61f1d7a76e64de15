"""A hardware workload: the traffic by pkt-gen, and how long packets take under it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.metric import Metric
from buildbot_bench.lab.loss_search import need_library
from buildbot_bench.lab.pktgen import Pings

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


HISTOGRAMS = ("hdrhistogram", "hdrh.histogram")
"""The package and its module that writes HdrHistogram's format."""
_PERCENTILES = (50.0, 99.0, 99.9)
_LEAST_BEYOND = 10  # answers beyond a percentile; chosen: ten differ by a third from boot to boot
_MOST_LOADS = 4  # four units each, of the twenty that a lab may tell
_ENDPOINT = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?", re.ASCII)
_LONGEST_NS = 1 << 33  # that a histogram has room for; ping waits 3 s for an answer


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySettings:
    """At which loads packets are timed, by pings of which one at a time is on its way.

    `shares` are of the rate without loss, found in the same boot; `rates_pps` stand in for them,
    and need no search. For `duration_s` at each load, up to `pings_pps` are sent from `source` to
    `destination`, which the DUT routes back to the first sender's port. With `judged` the mean at
    the first load is the workload's value, and not the rate without loss.
    """

    shares: tuple[float, ...] = (0.1, 0.5, 0.9)
    rates_pps: tuple[float, ...] = ()
    duration_s: float = 10.0
    pings_pps: float = 2000.0
    source: str = "198.18.20.1:2001"
    destination: str = "198.18.21.1:2001"
    judged: bool = False

    def __post_init__(self) -> None:
        if not all(0 < share <= 1 for share in self.shares):
            raise UsageError("shares: one is not in 0..1")
        if not all(1 <= rate < math.inf for rate in self.rates_pps):
            raise UsageError("rates_pps: one is no rate")
        if not 1 <= len(self.rates_pps or self.shares) <= _MOST_LOADS:
            raise UsageError(f"shares, rates_pps: give one to {_MOST_LOADS}")
        if not 3 <= self.duration_s <= 600:  # noqa: PLR2004 - said in the complaint
            raise UsageError(f"duration_s: {self.duration_s:g} is not in 3..600")
        if not 1 <= self.pings_pps <= 100_000:  # noqa: PLR2004 - said in the complaint
            raise UsageError(f"pings_pps: {self.pings_pps:g} is not in 1..100000")
        for end in (self.source, self.destination):
            if not _ENDPOINT.fullmatch(end):
                raise UsageError(f"{quoted(end, columns=40)} is no address of IPv4")

    def loads(self, ndr_pps: float | None) -> Mapping[str, float]:
        """Each load in pps as its unit names it; shares need the rate without loss, `ndr_pps`."""
        if self.rates_pps:
            return {f"{rate:.0f} pps": rate for rate in self.rates_pps}
        return {f"{100 * share:g} %": share * (ndr_pps or 0.0) for share in self.shares}

    def metrics(self) -> tuple[Metric, ...]:
        """The units of all loads, the mean of each first."""
        return tuple(
            metric
            for load in self.loads(None)
            for metric in (
                Metric(name="latency, mean", unit=_unit(load), higher_is_better=False),
                *(
                    Metric(
                        name=f"latency, p{percent:g} within a factor of two",
                        unit=_unit(load, percent),
                        higher_is_better=False,
                    )
                    for percent in _PERCENTILES
                ),
            )
        )


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """What pings say of a load, of which a share of packets was lost on the way."""

    load: str
    load_pps: float
    pings: Pings
    lost: float

    @property
    def values(self) -> dict[str, float]:
        """Mean and percentiles in us by their units, less those that too few pings tell of."""
        count = sum(self.pings.answers.values())
        told = [p for p in _PERCENTILES if count * (1 - p / 100) >= _LEAST_BEYOND]
        values = {_unit(self.load): self.pings.mean_ns / 1e3}
        return values | {_unit(self.load, p): percentile_ns(self.pings, p) / 1e3 for p in told}

    @property
    def log(self) -> str:
        """What was found, and the histogram as HdrHistogram's tools read it.

        Each count of the histogram stands in the middle of its bucket.
        """
        pings, count = self.pings, sum(self.pings.answers.values())
        times = ", ".join(f"{value:.1f} {unit}" for unit, value in self.values.items())
        histogram = need_library(*HISTOGRAMS).HdrHistogram(1, _LONGEST_NS, 2)
        for bucket, answers in pings.answers.items():
            histogram.record_value(round(math.sqrt(2) * 2**bucket), answers)
        return (
            f"{self.load_pps:.0f} pps, of which {self.lost:.2%} were lost: {count} pings came back,"
            f" {pings.lost} did not, the quickest in {pings.least_ns / 1e3:.1f} us; {times}\n"
            f"histogram in ns at {self.load}: {histogram.encode().decode()}\n"
        )


def percentile_ns(pings: Pings, percent: float) -> float:
    """The time that so many percent of pings did not exceed, in ns.

    Within its bucket the time is interpolated by its logarithm, from the least time on.
    """
    wanted = percent / 100 * sum(pings.answers.values())
    for bucket, count in sorted(pings.answers.items()):
        if count and wanted <= count:
            low = max(2.0**bucket, min(pings.least_ns, 2.0 ** (bucket + 1)))
            return float(low * (2.0 ** (bucket + 1) / low) ** (wanted / count))
        wanted -= count
    raise AssertionError(pings)


def _unit(load: str, percent: float | None = None) -> str:
    """`us at 50 %`, the mean's, or `us at 50 % (p99)`."""
    return f"us at {load}" + (f" (p{percent:g})" if percent is not None else "")
