"""The table of measured figures beside the wanted ones."""

import os
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One line: `is_met` None where nothing is wanted but that the figure is printed."""

    row: str
    what: str
    wanted: str
    seen: str
    is_met: bool | None = None


def at_most(row: str, what: str, limit_s: float, seen_s: float) -> Figure:
    """A time that shall not be longer; with the load where others want the processors, too."""
    load = os.getloadavg()[0]
    busy = f" at a load of {load:.0f}" if load > 2 * (os.cpu_count() or 1) else ""
    return Figure(
        row=row,
        what=what,
        wanted=f"≤ {limit_s:.0f} s",
        seen=f"{seen_s:.0f} s{busy}",
        is_met=seen_s <= limit_s,
    )


def same(row: str, what: str, one: str, other: str, *, wanted: bool = True) -> Figure:
    """Two digests, told by their first letters, that shall be the same, or not."""
    told = f"{one[:12]} {'=' if one == other else '≠'} {other[:12]}"
    return Figure(
        row=row,
        what=what,
        wanted="one digest" if wanted else "another digest",
        seen=told,
        is_met=(one == other) is wanted,
    )


def show(figures: Sequence[Figure]) -> str:
    """A line for each figure."""
    marks = {True: "ok  ", False: "FAIL", None: "    "}
    return "\n".join(
        f"{marks[f.is_met]} {f.row:10s} {f.what:44s} {f.wanted:16s} {f.seen}" for f in figures
    )


def verdict(figures: Sequence[Figure]) -> str:
    """How many figures are as wanted."""
    met = sum(figure.is_met is True for figure in figures)
    failed = sum(figure.is_met is False for figure in figures)
    return f"{met} figures as wanted, {failed} not, {len(figures) - met - failed} told"
