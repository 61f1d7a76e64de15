"""What each function costs a packet before and after a step, as a table that sums to the change.

It counts nothing; all text here has gone through `one_line`.
"""

from __future__ import annotations

from dataclasses import dataclass

from buildbot_bench.core.json_model import Count
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.profile import CostChange, Profile, compare_costs

_MOST_FUNCTIONS = 16
# Half of the last digit that a reader sees: what changed by less is among the others.
_LEAST_INSTRUCTIONS = 0.005
# The captures are taken on boots of their own. Where counts are exact they differ from the
# measurement by what a boot does once; beyond this part of the change a reader is to know.
_DISAGREEMENT = 0.02
_NAME_COLUMNS = 48
_PLACE_COLUMNS = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionCost:
    """A function's own instructions per packet on both sides; `place` is `path:line`, if known."""

    name: str
    place: str
    old: float
    new: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Sum:
    """Instructions per packet of several functions together, on both sides."""

    functions: Count
    old: float
    new: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PerPacket:
    """The table: `functions`, the largest change first, and `others` add up to `total`.

    `note` says how far the captures are from what was measured, and is empty when they agree.
    """

    functions: tuple[FunctionCost, ...]
    others: Sum
    total: Sum
    note: str = ""


def changed_costs(old: Profile, new: Profile) -> tuple[CostChange, ...]:
    """The functions whose cost changed as far as a reader can see, the largest change first."""
    return tuple(
        change for change in compare_costs(old, new) if abs(change.delta) >= _LEAST_INSTRUCTIONS
    )


def per_packet(old: Profile, new: Profile, measured: tuple[float, float] | None) -> PerPacket:
    """The table of two captures that tell what a packet costs.

    `measured` are the medians of both sides, in the same unit, where that was measured.
    """
    changes, shown = compare_costs(old, new), changed_costs(old, new)[:_MOST_FUNCTIONS]
    total = _sum(changes)
    return PerPacket(
        functions=tuple(_function(change, old, new) for change in shown),
        others=_sum(changes[len(shown) :]),  # both are in the same order
        total=total,
        note=_note(total, measured) if measured else "",
    )


def _sum(changes: tuple[CostChange, ...]) -> Sum:
    return Sum(
        functions=len(changes),
        old=sum(change.old for change in changes),
        new=sum(change.new for change in changes),
    )


def _function(change: CostChange, old: Profile, new: Profile) -> FunctionCost:
    place = new.places.get(change.name) or old.places.get(change.name, "")
    return FunctionCost(
        name=one_line(change.name, columns=_NAME_COLUMNS),
        place=one_line(place, columns=_PLACE_COLUMNS),
        old=change.old,
        new=change.new,
    )


def _note(total: Sum, measured: tuple[float, float]) -> str:
    captured, medians = total.new - total.old, measured[1] - measured[0]
    if abs(captured - medians) <= max(_DISAGREEMENT * abs(medians), _LEAST_INSTRUCTIONS):
        return ""
    return (
        f"The captures differ by {captured:+.2f} instructions per packet, the medians of what was "
        f"measured by {medians:+.2f}: the table accounts for the former."
    )
