"""What is measured of a run: its metrics, its values that have names, and its times."""

import gzip
import hashlib
import json
import math
import struct
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any, Self

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.json_model import Count, Figure
from buildbot_bench.core.legible import quoted


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


MOST_VALUES = 1000
"""Named values of a run."""
LONGEST_NAME, LONGEST_UNIT = 100, 40
"""Characters of a value's name, which a search has as its unit, and of its own unit."""
WIDTH = 8
"""Bytes of a packed value."""
_MARK = 6  # digits that tell one set of names from another


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedRun:
    """A run of one image: where it stands, when it ended, its values as `NamedRuns` lists them."""

    label: str
    position: int
    image: int
    epoch: str
    at_s: float
    values: Sequence[float]


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedRuns:
    """The runs of a workload by position, image and time; what is not above 0 is no value."""

    testbed: str
    workload: str
    metrics: tuple[Metric, ...]
    runs: tuple[NamedRun, ...]


def means_at(named: NamedRuns, position: int, epoch: str) -> dict[Metric, float]:
    """Return the means of the runs of a position, without values that none of them gave."""
    runs = [one for one in named.runs if (one.position, one.epoch) == (position, epoch)]
    return {
        metric: sum(given) / len(given)
        for place, metric in enumerate(named.metrics)
        if (given := [value for one in runs if 0 < (value := one.values[place]) < math.inf])
    }


def changed_values(
    named: NamedRuns, position: int
) -> tuple[dict[Metric, float], dict[Metric, float]]:
    """Return the means of the runs of a position, and of the nearest before it in its epoch."""
    last = named.runs[-1]
    if last.position != position:
        return {}, {}
    earlier = [
        one.position for one in named.runs if one.position < position and one.epoch == last.epoch
    ]
    before = means_at(named, earlier[-1], last.epoch) if earlier else {}
    return means_at(named, position, last.epoch), before


def wired(named: Mapping[Metric, float]) -> list[list[Any]]:
    """Return the values as JSON has them; null is no number."""
    return [
        [one.name, one.unit, one.higher_is_better, value if math.isfinite(value) else None]
        for one, value in named.items()
    ]


def heard(told: Any) -> dict[Metric, float]:
    """Read what `wired` wrote, from a lab that may say anything; what is no number is NaN."""
    if not isinstance(told, list):
        raise InfraError(f"not the named values of a run: {quoted(told)}")
    if len(told) > MOST_VALUES:
        raise InfraError(
            f"the lab reports {len(told):,} named values of a run, more than {MOST_VALUES:,}"
        )
    found: dict[Metric, float] = {}
    names = set()
    for entry in told:
        match entry:
            case [str(name), str(unit), bool(higher), float() | int() | None as value] if (
                _is_legible(name, LONGEST_NAME) and name and _is_legible(unit, LONGEST_UNIT)
            ):
                metric = Metric(name=name, unit=unit, higher_is_better=higher)
                number = math.nan if value is None else value
                found[metric] = float(number) if abs(number) <= sys.float_info.max else math.nan
                names.add(name)
            case _:
                raise InfraError(
                    f"not a named value of a run: {quoted(entry)}",
                    hint=f"a name is visible, of at most {LONGEST_NAME} characters",
                )
    if len(names) != len(told):
        raise InfraError("two named values of a run have the same name")
    return found


def _is_legible(text: str, most: int) -> bool:
    return len(text) <= most and text.isprintable()


def overall(named: Mapping[Metric, float]) -> tuple[Metric, float] | None:
    """Return what stands for all values above 0, their geometric mean; None without any.

    Large and small values weigh alike, and no history is needed. Where more is better in all of
    them, so it is in the mean; else those are taken inversely, and less is better. The unit names
    the set of values: means of two sets are never compared.
    """
    counted = {one: value for one, value in named.items() if 0 < value < math.inf}
    if not counted:
        return None
    higher = all(one.higher_is_better for one in counted)
    logs = (
        math.log(value) * (1 if one.higher_is_better is higher else -1)
        for one, value in counted.items()
    )
    described = json.dumps(sorted([one.name, one.unit, one.higher_is_better] for one in counted))
    mark = hashlib.sha256(described.encode()).hexdigest()[:_MARK]
    units = {one.unit for one in counted}
    unit = units.pop() if len(units) == 1 else "mixed"
    unit = f"{unit} ({len(counted)} values #{mark})"
    metric = Metric(name="geometric mean", unit=unit, higher_is_better=higher)
    return metric, math.exp(fmean(logs))


def pack_names(metrics: Iterable[Metric]) -> tuple[str, bytes]:
    """Return a list of names, with units and directions, in gzip's form, and its SHA-256."""
    text = json.dumps([[one.name, one.unit, one.higher_is_better] for one in metrics]).encode()
    return hashlib.sha256(text).hexdigest(), gzip.compress(text, mtime=0)


def unpack_names(body: bytes) -> tuple[Metric, ...]:
    """Return the metrics of a list that `pack_names` wrote."""
    return tuple(
        Metric(name=name, unit=unit, higher_is_better=higher)
        for name, unit, higher in json.loads(gzip.decompress(body))
    )


def pack(values: Sequence[float]) -> bytes:
    """Return the values in the order of their names, WIDTH bytes each."""
    return struct.pack(f"<{len(values)}d", *values)


def unpack(body: bytes) -> Sequence[float]:
    """Return the values that `pack` wrote, or some in a row of them, as numpy and pickle like it.

    A tuple would be an object a value: of a run's thousand values a judge looks at most at once.
    """
    values = array("d", body)
    if sys.byteorder == "big":
        values.byteswap()
    return values


LEAST_STEPS = 20
"""A measurement of a time has at least so many steps of its clock, by several executions."""
# A program that takes no time at all has an end, too.
MOST_EXECUTIONS = 1000
# Chosen: two levels that lie one effect apart are then at least two steps apart.
_MOST_OF_EFFECT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTimes:
    """What the clocks say of a run, in seconds: means over its `executions` of the command.

    `step` is the smallest difference that the run's value can have, in the value's own unit; 0
    where that is not known, or too small to matter.
    """

    wall_s: Figure
    user_s: Figure
    system_s: Figure
    executions: Count = 1
    step: Figure = 0.0

    @property
    def cpu_s(self) -> float:
        """Processor time, which the kernel counts exactly and splits into user and system."""
        return self.user_s + self.system_s

    def as_json(self) -> dict[str, float]:
        """Return them as JSON has them."""
        return asdict(self)

    @classmethod
    def heard(cls, told: Mapping[str, Any] | None) -> Self | None:
        """Read what `as_json` wrote or a lab reports. None if it is something else."""
        if not isinstance(told, Mapping) or set(told) != set(cls.__slots__):
            return None
        if not all(type(one) in {int, float} and 0 <= one < math.inf for one in told.values()):
            return None
        return cls(**told)


def executions_needed(length_s: float, step_s: float, *, most: int = MOST_EXECUTIONS) -> int:
    """How many executions of `length_s` each make a measurement of LEAST_STEPS clock steps."""
    wanted_s = LEAST_STEPS * step_s
    if length_s >= wanted_s:
        return 1
    if length_s * most <= wanted_s:
        return max(1, most)
    return math.ceil(wanted_s / length_s)


def is_coarse(value: float, step: float, min_effect: float) -> bool:
    """Return whether a value's step hides an effect: a fraction of the value."""
    return step > _MOST_OF_EFFECT * min_effect * value


def least_value(step: float, min_effect: float) -> float:
    """Return the value from which on its step hides no effect."""
    return step / (_MOST_OF_EFFECT * min_effect)
