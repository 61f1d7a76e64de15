"""The rule for alarms that may share a cause: related series, one direction, common range.

Related series measure the same kernels: other workloads of one testbed, and other testbeds of the
same branch and configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

from buildbot_bench.core.metric import more_is_better


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmedSeries:
    """A workload on a testbed whose level changed by `effect` in (old, new], two positions.

    `configuration` names what its kernels are built from: branch and kernel configuration.
    `effect` is a fraction of the old level, in `unit`; `higher_is_better` is None where the unit
    alone says which way is better.
    """

    testbed: str
    workload: str
    unit: str
    configuration: str
    old: int
    new: int
    effect: float
    higher_is_better: bool | None = None

    @property
    def worse(self) -> bool:
        """Whether the series became worse."""
        return is_worse(self.effect, self.unit, self.higher_is_better)


def is_worse(effect: float, unit: str, higher_is_better: bool | None = None) -> bool:
    """Whether an effect makes a metric worse; of an unknown unit more is better."""
    return (effect < 0) is more_is_better(unit, higher_is_better)


def may_share_a_change(one: AlarmedSeries, other: AlarmedSeries) -> bool:
    """Whether one commit may be behind both alarms.

    The old end of a range is no suspect: ranges that meet in one commit share none.
    """
    same_kernels = one.configuration == other.configuration
    same_direction = one.worse is other.worse
    return same_kernels and same_direction and one.old < other.new and other.old < one.new
