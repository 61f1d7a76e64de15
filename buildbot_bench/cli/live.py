"""The display of what goes on as a picture on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Generic, Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from buildbot_bench.cli.progress import LineView, Seen, View


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
