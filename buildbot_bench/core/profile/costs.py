"""What each function costs a packet, and how two exact captures differ; it knows no commit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from buildbot_bench.core.profile.model import Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class CostChange:
    """A function's own instructions per packet in an old and a new capture."""

    name: str
    old: float
    new: float

    @property
    def delta(self) -> float:
        """New less old, in instructions per packet."""
        return self.new - self.old


def compare_costs(old: Profile, new: Profile) -> tuple[CostChange, ...]:
    """How every function's own cost changed, the largest change first, then by name.

    Both captures tell what a packet costs (`is_per_packet`). All of an exact capture counts, idle
    or not: the sum over the functions is what a packet costs.
    """
    before, after = _costs(old), _costs(new)
    changes = [
        CostChange(name=name, old=before[name] / old.packets, new=after[name] / new.packets)
        for name in before.keys() | after.keys()
    ]
    return tuple(sorted(changes, key=lambda change: (-abs(change.delta), change.name)))


def _costs(profile: Profile) -> Counter[str]:
    counts: Counter[str] = Counter()
    for stack in profile.stacks:
        counts[stack.leaf] += stack.samples
    return counts
