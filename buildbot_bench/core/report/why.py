"""Where the cycles went before and after a step, as a reader is told it; it samples nothing.

Every share is of the samples that are not idle; instructions per packet are a table that sums to
the change. All text here has gone through `one_line`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from buildbot_bench.core.json_model import Count, Share
from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.profile import (
    CostChange,
    Cycles,
    Profile,
    ShareChange,
    compare_costs,
    compare_symbols,
)
from buildbot_bench.core.report.changed_files import ChangedFile, places_of

_MOST_FUNCTIONS = 16
# Half of the last digit that a reader sees: what changed by less is among the others.
_LEAST_INSTRUCTIONS = 0.005
# The captures are taken on boots of their own. Where counts are exact they differ from the
# measurement by what a boot does once; beyond this part of the change a reader is to know.
_DISAGREEMENT = 0.02
_MOST_SYMBOLS = 10
# What counts as moved when the commit is searched for names; chance alone moves less than this.
_LEAST_POINTS = 0.001
_LABEL_COLUMNS = 24
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """One capture as the farm has it; `link` is where its flame graph is seen."""

    label: str
    profile: Profile
    link: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Captures:
    """Both sides of a step, or in `missing` why there are none of them.

    `difference` is where their differential flame graph is seen; `diff` is the commit's, empty
    when it is not one commit.
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
class Symbol:
    """A function's own fraction of the busy cycles on both sides.

    `error` is the standard error of the difference that sampling alone makes; `sure` is that the
    difference is more than three of those.
    """

    name: str
    old: Share
    new: Share
    error: float
    sure: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """The section of a report. With `missing`, the reason why, there is nothing else.

    `places` is None when there is no single commit whose files could be looked at. `per_packet` is
    there when both captures are exact and say of how many packets they are.
    """

    counter: str = ""
    old: Sampled | None = None
    new: Sampled | None = None
    symbols: tuple[Symbol, ...] = ()
    per_packet: PerPacket | None = None
    places: tuple[ChangedFile, ...] | None = None
    difference: str = ""
    missing: str = ""


def explain(known: Captures, *, measured: tuple[float, float] | None = None) -> Why:
    """What two captures say, those functions first whose share changed most.

    `measured` are the medians of both sides when the metric is instructions per packet.
    """
    if known.missing or known.old is None or known.new is None:
        return Why(missing=one_line(known.missing or "there is no capture of both sides"))
    old, new = known.old, known.new
    own = compare_symbols(old.profile, new.profile)
    counted = old.profile.is_per_packet and new.profile.is_per_packet
    if counted:
        moved = [change.name for change in changed_costs(old.profile, new.profile)]
    else:
        moved = _moved_shares(old.profile, new.profile)
    where = {**old.profile.places, **new.profile.places}
    return Why(
        counter=one_line(known.counter, columns=_NAME_COLUMNS),
        old=_sampled(old),
        new=_sampled(new),
        symbols=tuple(_symbol(change) for change in own[:_MOST_SYMBOLS] if change.delta),
        per_packet=per_packet(old.profile, new.profile, measured) if counted else None,
        places=places_of(known.diff, moved, where) if known.diff else None,
        difference=long_line(known.difference),
    )


def _moved_shares(old: Profile, new: Profile) -> list[str]:
    """Those that moved by themselves, then those that did with what they call."""
    by_kind = [
        _moved(compare_symbols(old, new, by=kind)) for kind in (Cycles.SELF, Cycles.INCLUSIVE)
    ]
    return list(dict.fromkeys(name for names in by_kind for name in names))


def _moved(changes: Iterable[ShareChange]) -> list[str]:
    return [
        change.name
        for change in changes
        if change.beyond_chance and abs(change.delta) >= _LEAST_POINTS
    ]


def _sampled(capture: Capture) -> Sampled:
    return Sampled(
        label=one_line(capture.label, columns=_LABEL_COLUMNS),
        samples=capture.profile.samples,
        idle=capture.profile.idle_share,
        link=long_line(capture.link),
    )


def _symbol(change: ShareChange) -> Symbol:
    return Symbol(
        name=one_line(change.name, columns=_NAME_COLUMNS),
        old=change.old,
        new=change.new,
        error=change.error,
        sure=change.beyond_chance,
    )
