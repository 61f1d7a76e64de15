"""The live display of a search on a terminal: range, probes, suspects and progress."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from buildbot_bench.cli.answers import RemoteProbe, RemoteProbeState, RemoteSearch
from buildbot_bench.cli.range_bar import range_bar
from buildbot_bench.cli.wording import (
    clock,
    range_text,
    remaining_text,
    result_text,
    revision_text,
    what_is_searched,
)
from buildbot_bench.core.figures import percent, sureness

PROBES_SHOWN = 8
SUSPECTS_SHOWN = 5
_BAR_CELLS = 60

_STYLES = {
    RemoteProbeState.NEW: "dim",
    RemoteProbeState.ISSUED: "cyan",
    RemoteProbeState.DONE: "",
    RemoteProbeState.LOST: "yellow",
    RemoteProbeState.CANCELLED: "dim",
}


def can_redraw(stream: TextIO) -> bool:
    """Whether a live display is of use there: a terminal that moves its cursor and has UTF-8."""
    encoding = (stream.encoding or "").lower().replace("-", "")
    return stream.isatty() and encoding == "utf8" and os.environ.get("TERM", "dumb") != "dumb"


class LivePicture:
    """For a terminal: one picture, redrawn; it vanishes when the answer is there.

    Strangers' texts are drawn as rich's `Text`, which takes no markup.
    """

    def __init__(self, stream: TextIO, beginning: str) -> None:
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def notice(self, message: str) -> None:
        """Print it above the picture, where it stays."""
        self._console.print(Text(message))


class LiveDisplay(LivePicture):
    """A search as a picture."""

    def __init__(self, stream: TextIO, *, first: str = "asking the farm") -> None:
        super().__init__(stream, first)

    def show(self, search: RemoteSearch, probes: Sequence[RemoteProbe]) -> None:
        """Redraw."""
        self._spinner.update(text=_title(search))
        self._picture = Group(
            self._spinner,
            Text(f"  {search.now}", style="dim", no_wrap=True, overflow="ellipsis"),
            Text(),
            _bar(search, probes, width=self._console.width),
            Text(),
            _probe_table(probes),
            Text(),
            _suspect_table(search),
            Text(f"  {remaining_text(search)}"),
        )


def _title(search: RemoteSearch) -> Text:
    span = range_text(search.old.label, search.new.label, search.commits)
    title = f"search {search.search_id}: {span}: {what_is_searched(search)}"
    return Text(title, style="bold", no_wrap=True, overflow="ellipsis")


def _bar(search: RemoteSearch, probes: Sequence[RemoteProbe], *, width: int) -> Text:
    margin = len(search.old.label) + len(search.new.label) + 4
    cells = max(10, min(_BAR_CELLS, width - margin))
    line = Text(f"  {search.old.label} ", no_wrap=True, overflow="ellipsis")
    return line.append(range_bar(search, probes, cells=cells), "cyan").append(
        f" {search.new.label}"
    )


def _probe_table(probes: Sequence[RemoteProbe]) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 2))
    for heading in ("probe", "revision", "state", "result", "at"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for probe in sorted(probes, key=lambda p: p.serial)[-PROBES_SHOWN:]:
        table.add_row(
            str(probe.serial),
            Text(revision_text(probe)),
            str(probe.state),
            Text(result_text(probe) if probe.ended else ""),
            "" if probe.at_s is None else clock(probe.at_s),
            style=_STYLES[probe.state],
        )
    return table


def _suspect_table(search: RemoteSearch) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 2))
    for heading in ("suspects", "sure", "effect"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    likely = sorted(search.suspects, key=lambda s: -s.probability)
    for suspect in likely[:SUSPECTS_SHOWN]:
        table.add_row(
            Text(f"({suspect.old}, {suspect.new}]"),
            sureness(suspect.probability),
            "" if suspect.effect is None else percent(suspect.effect),
        )
    if len(likely) > SUSPECTS_SHOWN:
        table.add_row(f"and {len(likely) - SUSPECTS_SHOWN} more", "", "")
    return table
