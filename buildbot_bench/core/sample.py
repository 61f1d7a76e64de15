"""What one boot gave, and all boots of one image together; it judges nothing."""

from __future__ import annotations

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
KNOWN_METRICS = {
    metric.unit: metric for metric in (PPS, PACKETS_PER_CPU_SECOND, INSTRUCTIONS_PER_PACKET)
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Iteration:
    """One boot and one blast: a value in the metric's unit, or the reason why there is none.

    `at_s` is when it ended, in seconds since the epoch; drift is read from it.
    """

    value: float | None
    at_s: float = 0.0
    failure: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """All iterations of one metric for one image of one variant on one testbed and workload.

    `position` orders the samples of a history by commit; `image` is which build of the variant.
    """

    label: str
    position: int
    image: int = 0
    testbed: str = ""
    workload: str = ""
    epoch: str = ""
    metric: Metric = PPS
    iterations: tuple[Iteration, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the iterations that gave one, in the order in which they were measured."""
        return tuple(i.value for i in self.iterations if i.value is not None)
