"""The section of a report on where CPU cycles went, with the cost of each function per packet."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from buildbot_bench.core.json_model import Count, Share
from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.patch import ChangedFile, ChangedLine, overlaps
from buildbot_bench.core.profile.functions import (
    CostChange,
    Cycles,
    ShareChange,
    compare_costs,
    compare_symbols,
    price,
)
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, PPS, Metric

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


_MOST_SYMBOLS = 10
# What counts as moved when the commit is searched for names; chance alone moves less than this.
_LEAST_POINTS = 0.001
_LABEL_COLUMNS = 24
_MOST_FILES = 5
_MOST_NAMES = 6
# A mail shows so many changed lines of a function, and so many in all.
_LINES_OF_FUNCTION = 10
_MOST_LINES = 40
_PATH_COLUMNS = 100
_LINE_COLUMNS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """One capture as the farm has it; `link` is where its flame graph is seen."""

    label: str
    profile: Profile
    link: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Captures:
    """Both sides of a step, or in `missing` why there are none of them.

    `difference` is their flame graph's address; `diff` is the commit's, empty when it is not one.
    """

    counter: str = ""
    old: Capture | None = None
    new: Capture | None = None
    difference: str = ""
    diff: str = ""
    missing: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampled:
    """How much a capture is made of; `idle` is the idle fraction of its samples."""

    label: str
    samples: Count
    idle: Share
    link: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """The section of a report. With `missing`, the reason why, there is nothing else.

    `places` is None when there is no single commit whose files could be looked at, or where the
    table explains too little. `per_packet` is there when it is known what a packet costs.
    """

    counter: str = ""
    old: Sampled | None = None
    new: Sampled | None = None
    symbols: tuple[ShareChange, ...] = ()
    per_packet: PerPacket | None = None
    places: tuple[ChangedFile, ...] | None = None
    difference: str = ""
    missing: str = ""


def explain(
    known: Captures, *, metric: Metric = PPS, levels: tuple[float, float] | None = None
) -> Why:
    """What two captures say, most changed first; `levels` of both sides are the metric's."""
    if known.missing or known.old is None or known.new is None:
        return Why(missing=one_line(known.missing or "one side has no capture"))
    old, new = known.old, known.new
    where = {**old.profile.places, **new.profile.places}
    priced = price(old.profile, new.profile, rates=levels if metric.is_rate_of_packets else None)
    if priced:
        changes = compare_costs(*priced)
        table = per_packet(changes, unit=priced[0].unit, where=where, metric=metric, levels=levels)
        moved = _on_paths(changed_costs(changes)) if table.explains else []
    else:
        table = None
        moved = _moved_shares(old.profile, new.profile)
    own = compare_symbols(old.profile, new.profile)
    return Why(
        counter=one_line(known.counter, columns=_NAME_COLUMNS),
        old=_sampled(old),
        new=_sampled(new),
        symbols=tuple(
            replace(change, name=one_line(change.name, columns=_NAME_COLUMNS))
            for change in own[:_MOST_SYMBOLS]
            if change.delta
        ),
        per_packet=table,
        places=places_of(known.diff, moved, where)
        if known.diff and (table is None or table.explains)
        else None,
        difference=long_line(known.difference),
    )


def _on_paths(changes: Iterable[CostChange]) -> list[str]:
    """The functions whose own cost changed, then those through whose calls that came.

    A commit seldom changes the C library's function, or the lock, that its own code now calls.
    """
    known = list(changes)
    callers = (caller for change in known for caller in change.callers)
    return list(dict.fromkeys([*(change.name for change in known), *callers]))


def _moved_shares(old: Profile, new: Profile) -> list[str]:
    """Those that moved by themselves, then those that did with what they call."""
    kinds = (Cycles.SELF, Cycles.INCLUSIVE)
    changes = chain.from_iterable(compare_symbols(old, new, by=kind) for kind in kinds)
    moved = (one.name for one in changes if one.sure and abs(one.delta) >= _LEAST_POINTS)
    return list(dict.fromkeys(moved))


def _sampled(capture: Capture) -> Sampled:
    return Sampled(
        label=one_line(capture.label, columns=_LABEL_COLUMNS),
        samples=capture.profile.samples,
        idle=capture.profile.idle_share,
        link=long_line(capture.link),
    )


def places_of(diff: str, names: Sequence[str], where: Mapping[str, str]) -> tuple[ChangedFile, ...]:
    """The files of a diff that overlap the functions; `where` has the places of functions."""
    places: list[ChangedFile] = []
    room = _MOST_LINES
    for file in overlaps(diff, names, where)[:_MOST_FILES]:
        shown = _first_of_each(file.lines)[:room]
        room -= len(shown)
        places.append(
            ChangedFile(
                path=one_line(file.path, columns=_PATH_COLUMNS),
                changed=_names(file.changed),
                named=_names(file.named),
                lines=tuple(map(_line, shown)),
                unshown=len(file.lines) - len(shown),
            )
        )
    return tuple(places)


def _first_of_each(lines: Sequence[ChangedLine]) -> list[ChangedLine]:
    seen: Counter[str] = Counter()
    kept = []
    for line in lines:
        seen[line.function] += 1
        if seen[line.function] <= _LINES_OF_FUNCTION:
            kept.append(line)
    return kept


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one_line(name, columns=_NAME_COLUMNS) for name in names[:_MOST_NAMES])


def _line(line: ChangedLine) -> ChangedLine:
    return replace(
        line,
        function=one_line(line.function, columns=_NAME_COLUMNS),
        text=one_line(line.text, columns=_LINE_COLUMNS),
    )
