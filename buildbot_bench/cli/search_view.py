"""The display of a running search, on a farm or here: its range, probes and suspects."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from buildbot_bench.api.searches import ProbeShown, SearchShown
from buildbot_bench.api.states import ProbeState
from buildbot_bench.cli.live import Drawing, table, view
from buildbot_bench.cli.progress import View
from buildbot_bench.cli.wording import (
    clock,
    probe_line,
    range_text,
    remaining_text,
    result_text,
    revision_text,
    suspects_text,
    what_is_searched,
)
from buildbot_bench.core.figures import percent, sureness

PROBES_SHOWN = 8
SUSPECTS_SHOWN = 5
_BAR_CELLS = 60
EMPTY, SUSPECTED, ASKED, MEASURED, FAILED = "─", "█", "○", "●", "✗"

_STYLES = {
    ProbeState.NEW: "dim",
    ProbeState.ISSUED: "cyan",
    ProbeState.DONE: "",
    ProbeState.LOST: "yellow",
    ProbeState.CANCELLED: "dim",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSeen:
    """A search and its probes at a moment."""

    search: SearchShown
    probes: Sequence[ProbeShown]

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.search.ended


def search_view(*, beginning: str = "asking the farm") -> AbstractContextManager[View[SearchSeen]]:
    """What suits standard error."""
    return view(sys.stderr, _drawing, SearchLines(), beginning=beginning)


class SearchLines:
    """What is new of a search: its range at first, then every ended probe, once."""

    def __init__(self) -> None:
        self._announced = False
        self._shown: set[int] = set()

    def __call__(self, seen: SearchSeen) -> Iterator[str]:
        """Give what ended since the last time."""
        if not self._announced:
            self._announced = True
            yield _title(seen.search)
        ended = [p for p in seen.probes if p.ended and p.probeid not in self._shown]
        for probe in (ordered := sorted(ended, key=lambda p: p.serial)):
            self._shown.add(probe.probeid)
            # The suspects are those of now: they follow from the last probe, not from earlier ones.
            suspects = suspects_text(seen.search.suspects) if probe is ordered[-1] else ""
            yield probe_line(probe) + (f"  ({suspects})" if suspects else "")


def _title(search: SearchShown) -> str:
    span = range_text(search.old.label, search.new.label, search.commits)
    return f"search {search.searchid}: {span}: {what_is_searched(search)}"


def _drawing(seen: SearchSeen, width: int) -> Drawing:
    search = seen.search
    parts = (
        _bar(search, seen.probes, width=width),
        Text(),
        _probe_table(seen.probes),
        Text(),
        _suspect_table(search),
        Text(f"  {remaining_text(search)}"),
    )
    return Drawing(title=_title(search), now=search.now, parts=parts)


def _bar(search: SearchShown, probes: Sequence[ProbeShown], *, width: int) -> Text:
    margin = len(search.old.label) + len(search.new.label) + 4
    cells = max(10, min(_BAR_CELLS, width - margin))
    line = Text(f"  {search.old.label} ", no_wrap=True, overflow="ellipsis")
    return line.append(range_bar(search, probes, cells=cells), "cyan").append(
        f" {search.new.label}"
    )


def range_bar(search: SearchShown, probes: Sequence[ProbeShown], *, cells: int) -> str:
    """`cells` characters from the old end to the new one.

    Suspects are named by labels, so that only those show whose ends were probed: all of them,
    for a search that learns by probing. They lie over what was measured, which shows around them;
    what is being measured lies over all.
    """
    span = max(1, search.new.position - search.old.position)

    def cell(position: int) -> int:
        share = (position - search.old.position) / span
        return min(cells - 1, max(0, round(share * (cells - 1))))

    line = [EMPTY] * cells
    where = {end.label: end.position for end in (search.old, search.new)}
    for probe in sorted(probes, key=lambda p: p.serial):
        where[probe.label] = probe.position
        if probe.ended:
            line[cell(probe.position)] = MEASURED if probe.values else FAILED
    for suspect in search.suspects:
        if suspect.old in where and suspect.new in where:
            first, last = cell(where[suspect.old]), cell(where[suspect.new])
            line[first : last + 1] = [SUSPECTED] * (last + 1 - first)
    for probe in probes:
        if probe.state is ProbeState.ISSUED:
            line[cell(probe.position)] = ASKED
    return "".join(line)


def _probe_table(probes: Sequence[ProbeShown]) -> Table:
    shown = table("probe", "revision", "state", "result", "at")
    for probe in sorted(probes, key=lambda p: p.serial)[-PROBES_SHOWN:]:
        shown.add_row(
            str(probe.serial),
            Text(revision_text(probe)),
            str(probe.state),
            Text(result_text(probe) if probe.ended else ""),
            "" if probe.at is None else clock(probe.at),
            style=_STYLES[probe.state],
        )
    return shown


def _suspect_table(search: SearchShown) -> Table:
    shown = table("suspects", "sure", "effect")
    likely = sorted(search.suspects, key=lambda s: -s.probability)
    for suspect in likely[:SUSPECTS_SHOWN]:
        shown.add_row(
            Text(f"({suspect.old}, {suspect.new}]"),
            sureness(suspect.probability),
            "" if suspect.effect is None else percent(suspect.effect),
        )
    if len(likely) > SUSPECTS_SHOWN:
        shown.add_row(f"and {len(likely) - SUSPECTS_SHOWN} more", "", "")
    return shown
