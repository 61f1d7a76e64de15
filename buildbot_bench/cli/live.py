"""The display of a running search or comparison as a picture on a terminal."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from statistics import fmean
from typing import Generic, Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from buildbot_bench.api.answers import ProbeShown, ProbeState, SearchShown
from buildbot_bench.cli.console import LineView, Seen, View
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
from buildbot_bench.local.comparing import ComparisonCourse


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """What a picture shows: `now` is what is done, `parts` lie below it."""

    title: str
    now: str
    parts: Sequence[RenderableType]


class LiveView(Generic[Seen]):
    """A view that redraws one picture, which vanishes when the answer is there.

    `draw` is given the width, too. Strangers' texts are drawn as rich's `Text`, without markup.
    """

    def __init__(
        self, stream: TextIO, draw: Callable[[Seen, int], Drawing], *, beginning: str
    ) -> None:
        self._draw = draw
        self._console = Console(file=stream, highlight=False)
        self._spinner = Spinner("dots", beginning)
        self._picture: RenderableType = self._spinner
        self._live = Live(
            console=self._console,
            get_renderable=lambda: self._picture,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def show(self, seen: Seen) -> None:
        """Redraw."""
        drawn = self._draw(seen, self._console.width)
        self._spinner.update(text=one_row(drawn.title, style="bold"))
        now = one_row(f"  {drawn.now}", style="dim")
        self._picture = Group(self._spinner, now, Text(), *drawn.parts)

    def notice(self, message: str) -> None:
        """Print it above the picture, where it stays."""
        self._console.print(Text(message))


def view(
    stream: TextIO,
    draw: Callable[[Seen, int], Drawing],
    new: Callable[[Seen], Iterable[str]],
    *,
    beginning: str,
) -> AbstractContextManager[View[Seen]]:
    """What suits a stream: a picture, or lines."""
    if can_redraw(stream):
        return LiveView(stream, draw, beginning=beginning)
    return nullcontext(LineView(stream, new))


def can_redraw(stream: TextIO) -> bool:
    """Whether a live display is of use there: a terminal that moves its cursor and has UTF-8."""
    encoding = (stream.encoding or "").lower().replace("-", "")
    return stream.isatty() and encoding == "utf8" and os.environ.get("TERM", "dumb") != "dumb"


def one_row(text: str, *, style: str = "") -> Text:
    """A text that is cut rather than wrapped."""
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def table(*headings: str) -> Table:
    """A table without lines, to be filled."""
    made = Table(box=None, header_style="dim", padding=(0, 2, 0, 2))
    for heading in headings:
        made.add_column(heading, no_wrap=True, overflow="ellipsis")
    return made


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


def comparison_view() -> AbstractContextManager[View[ComparisonCourse]]:
    """What suits standard error."""
    return view(sys.stderr, _comparison_drawing, ComparisonLines(), beginning="comparing")


class ComparisonLines:
    """What is new of a comparison: each build, and each run when it has ended."""

    def __init__(self) -> None:
        self._done: int | None = None
        self._now = ""

    def __call__(self, course: ComparisonCourse) -> Iterator[str]:
        """Give what was done and begun since the last time."""
        last = course.last
        if self._done is not None and course.done > self._done and last is not None:
            value = f"{last.values[-1]:.6g} {course.unit}"
            yield f"{course.done} of {course.total} runs  {last.label}  {value}"
        self._done = course.done
        if course.is_building and course.now != self._now:
            yield course.now
        self._now = course.now


def _comparison_drawing(course: ComparisonCourse, _width: int) -> Drawing:
    shown = table("variant", "runs", "builds", f"mean, {course.unit}", "against the first")
    base = course.variants[0].values
    level = fmean(base) if base else 0.0
    for place, one in enumerate(course.variants):
        mean = fmean(one.values) if one.values else None
        shown.add_row(
            Text(one.label),
            f"{len(one.values)} of {one.wanted}",
            str(one.images),
            "" if mean is None else f"{mean:.6g}",
            "" if not place or mean is None or not level else percent(mean / level - 1),
        )
    title = f"{course.title}: {course.done} of {course.total} runs"
    return Drawing(title=title, now=course.now, parts=(shown,))
