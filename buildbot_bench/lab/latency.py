"""How long packets take through a DUT under a load: settings, percentiles, units, histogram."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.metric import Metric
from buildbot_bench.lab.extras import need_library
from buildbot_bench.lab.pktgen import Pings

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
