"""An iteration (one boot), and the sample of all iterations of one image."""

from dataclasses import dataclass

from buildbot_bench.core.metric import (
    INSTRUCTIONS_PER_PACKET,
    KNOWN_METRICS,
    PACKETS_PER_CPU_SECOND,
    PPS,
    Metric,
    NoiseClass,
)

__all__ = [
    "INSTRUCTIONS_PER_PACKET",
    "KNOWN_METRICS",
    "PACKETS_PER_CPU_SECOND",
    "PPS",
    "Iteration",
    "Metric",
    "NoiseClass",
    "Sample",
]


# Without slots, both: with them Python code pickles them, which takes five times as long.
@dataclass(frozen=True, kw_only=True)
class Iteration:
    """One boot and one blast, ended at `at_s` (epoch): a value in the metric's unit or why none."""

    value: float | None
    at_s: float = 0.0
    failure: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """All iterations of one metric for one image of one variant on one testbed and workload.

    `position` orders the samples of a history by commit; `image` is which build of the variant.
    `resolution` is the smallest difference that its values can have, in the metric's unit; 0 where
    that is not known.
    """

    label: str
    position: int
    image: int = 0
    testbed: str = ""
    workload: str = ""
    epoch: str = ""
    metric: Metric = PPS
    resolution: float = 0.0
    iterations: tuple[Iteration, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the iterations that gave one, in the order in which they were measured."""
        return tuple(i.value for i in self.iterations if i.value is not None)
