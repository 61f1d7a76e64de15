"""A metric: its unit, its better direction, and how its values repeat."""

from dataclasses import dataclass
from enum import StrEnum


class NoiseClass(StrEnum):
    """How a metric repeats: `sampled` varies from boot to boot, `exact` is counted.

    What is counted varies little or not at all, and not with the layout of an image.
    """

    SAMPLED = "sampled"
    EXACT = "exact"


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """What is counted, its unit, which way is better, and how it repeats."""

    name: str
    unit: str
    higher_is_better: bool = True
    noise: NoiseClass = NoiseClass.SAMPLED

    @property
    def is_rate_of_packets(self) -> bool:
        """Whether 1 / value is the time that a packet takes."""
        return self.unit.startswith("packets/") or self.unit == "pps"


PPS = Metric(name="throughput", unit="pps")
PACKETS_PER_CPU_SECOND = Metric(name="efficiency", unit="packets/CPU-s")
INSTRUCTIONS_PER_PACKET = Metric(
    name="instruction count",
    unit="instructions/packet",
    higher_is_better=False,
    noise=NoiseClass.EXACT,
)
NDR = Metric(name="rate without loss", unit="pps without loss")
PDR = Metric(name="rate at .5 % loss", unit="pps at .5 % loss")
SIZE = Metric(name="text and data", unit="bytes", higher_is_better=False, noise=NoiseClass.EXACT)
BUILD = Metric(name="time to build", unit="s to build", higher_is_better=False)
BOOT = Metric(name="time to boot", unit="s to boot", higher_is_better=False)
COSTS = {"size": SIZE, "build": BUILD, "boot": BOOT}
"""What a commit costs besides, which each build and boot tells: kept and shown, never judged. Of
these only the last is measured by a lab, behind the unit that is judged."""
LATENCIES = {
    0.5: Metric(name="median latency", unit="us at 50 % (p50)", higher_is_better=False),
    0.99: Metric(name="latency", unit="us at 50 % (p99)", higher_is_better=False),
}
"""By quantile, the latencies at half of a rate."""
KNOWN_METRICS = {
    metric.unit: metric
    for metric in (
        *(PPS, PACKETS_PER_CPU_SECOND, INSTRUCTIONS_PER_PACKET, NDR, PDR, BOOT),
        *LATENCIES.values(),
    )
}


def more_is_better(unit: str, stated: bool | None = None) -> bool:
    """Whether more of a unit is better: as was stated, as it is known, and else it is."""
    return KNOWN_METRICS.get(unit, PPS).higher_is_better if stated is None else stated
