"""Wall, user and system time of a run, and what a value of so long a run resolves."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from buildbot_bench.core.json_model import Count, Figure

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
