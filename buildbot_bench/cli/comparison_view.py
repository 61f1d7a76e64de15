"""The display of a comparison without a farm: a live table, or lines."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from statistics import fmean
from typing import TextIO

from rich.console import Group
from rich.table import Table
from rich.text import Text

from buildbot_bench.cli.console import say
from buildbot_bench.cli.live import LivePicture, can_redraw
from buildbot_bench.core.figures import percent
from buildbot_bench.local.comparing import ComparisonCourse, ComparisonWatcher


class ComparisonLines:
    """Says on standard error each build, and each run when it has ended."""

    def __init__(self) -> None:
        self._done: int | None = None
        self._now = ""

    def look(self, course: ComparisonCourse) -> None:
        """The comparison as it stands now."""
        last = course.last
        if self._done is not None and course.done > self._done and last is not None:
            say(
                f"{course.done} of {course.total} runs  {last.label}  "
                f"{last.values[-1]:.6g} {course.unit}"
            )
        self._done = course.done
        if course.is_building and course.now != self._now:
            say(course.now)
        self._now = course.now

    def notice(self, message: str) -> None:
        """Something that a person should know, said once."""
        say(message)


class LiveComparison(LivePicture):
    """A comparison as a picture: what each variant read so far, and what is done now."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream, "comparing")

    def look(self, course: ComparisonCourse) -> None:
        """Redraw."""
        title = f"{course.title}: {course.done} of {course.total} runs"
        self._spinner.update(text=Text(title, style="bold", no_wrap=True, overflow="ellipsis"))
        self._picture = Group(
            self._spinner,
            Text(f"  {course.now}", style="dim", no_wrap=True, overflow="ellipsis"),
            Text(),
            _table(course),
        )


def comparison_view() -> AbstractContextManager[ComparisonWatcher]:
    """What suits standard error."""
    if can_redraw(sys.stderr):
        return LiveComparison(sys.stderr)
    return nullcontext(ComparisonLines())


def _table(course: ComparisonCourse) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 2))
    for heading in ("variant", "runs", "builds", f"mean, {course.unit}", "against the first"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    base = course.variants[0].values
    level = fmean(base) if base else 0.0
    for place, one in enumerate(course.variants):
        mean = fmean(one.values) if one.values else None
        table.add_row(
            Text(one.label),
            f"{len(one.values)} of {one.wanted}",
            str(one.images),
            "" if mean is None else f"{mean:.6g}",
            "" if not place or mean is None or not level else percent(mean / level - 1),
        )
    return table
