"""The table of each function's cost per packet on both sides of a step, cleaned by `one_line`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench.core.json_model import Count, Share
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.profile.costs import CostChange
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, Metric

_MOST_FUNCTIONS = 16
# Half of the last digit that a reader sees: what changed by less is among the others.
_LEAST_COST = 0.005
# The captures are taken on boots of their own. Where counts are exact they differ from the
# measurement by what a boot does once; beyond this part of the change a reader is to know.
_DISAGREEMENT = 0.02
# A table that explains less than this part of the change names nothing.
_EXPLAINS = 0.5
_NAME_COLUMNS = 48
_PLACE_COLUMNS = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionCost:
    """A function's own cost per packet on both sides.

    `place` is `path:line`, empty where unknown. `callers`, the nearest first, are those of the
    calls that carry most of the change.
    """

    name: str
    place: str
    old: float
    new: float
    callers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Sum:
    """The cost per packet of several functions together, on both sides."""

    functions: Count
    old: float
    new: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PerPacket:
    """The table: `functions`, the largest change first, and `others` add up to `total`.

    All are in `unit` per packet. `explained` is the part of the change that lies in the few
    functions whose cost changed most, and by more than chance; where it is less than half, no
    function is listed. `note` says how far the captures are from what was measured, and is empty
    when they agree.
    """

    unit: str
    functions: tuple[FunctionCost, ...]
    others: Sum
    total: Sum
    explained: Share = 1.0
    note: str = ""

    @property
    def explains(self) -> bool:
        """Whether the listed functions are why it changed."""
        return self.explained >= _EXPLAINS


def changed_costs(changes: Iterable[CostChange]) -> tuple[CostChange, ...]:
    """Those beyond chance, and as large as a reader can see, in the same order."""
    return tuple(change for change in changes if change.sure and abs(change.delta) >= _LEAST_COST)


def per_packet(
    changes: Sequence[CostChange],
    *,
    unit: str,
    where: Mapping[str, str],
    metric: Metric,
    levels: tuple[float, float] | None,
) -> PerPacket:
    """The table of what functions cost a packet, in a unit, the largest change first.

    `where` has the places of functions by their names. `levels` are what was measured of both
    sides, in the metric's unit.
    """
    total = _sum(changes)
    largest = changed_costs(changes)[:_MOST_FUNCTIONS]
    explained = _explained(largest, total)
    shown = largest if explained >= _EXPLAINS else ()
    names = {change.name for change in shown}
    counted = levels if metric == INSTRUCTIONS_PER_PACKET else None
    return PerPacket(
        unit=unit,
        functions=tuple(_function(change, where.get(change.name, "")) for change in shown),
        others=_sum(change for change in changes if change.name not in names),
        total=total,
        explained=explained,
        note=_note(total, counted) if counted else "",
    )


def _explained(changed: Iterable[CostChange], total: Sum) -> float:
    """The part of the whole change that the changed functions make up, from 0 to 1."""
    whole = total.new - total.old
    if abs(whole) < _LEAST_COST:
        return 1.0
    return min(max(sum(change.delta for change in changed) / whole, 0.0), 1.0)


def _sum(changes: Iterable[CostChange]) -> Sum:
    summed = list(changes)
    return Sum(
        functions=len(summed),
        old=sum(change.old for change in summed),
        new=sum(change.new for change in summed),
    )


def _function(change: CostChange, place: str) -> FunctionCost:
    return FunctionCost(
        name=one_line(change.name, columns=_NAME_COLUMNS),
        place=one_line(place, columns=_PLACE_COLUMNS),
        old=change.old,
        new=change.new,
        callers=tuple(one_line(caller, columns=_NAME_COLUMNS) for caller in change.callers),
    )


def _note(total: Sum, levels: tuple[float, float]) -> str:
    captured, measured = total.new - total.old, levels[1] - levels[0]
    if abs(captured - measured) <= max(_DISAGREEMENT * abs(measured), _LEAST_COST):
        return ""
    return (
        f"The captures differ by {captured:+,.2f} instructions per packet, the measured levels by "
        f"{measured:+,.2f}. The table shows the captures."
    )
