"""The display of a comparison without a farm: what each variant read so far."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from statistics import fmean

from rich.text import Text

from buildbot_bench.cli.live import Drawing, table, view
from buildbot_bench.cli.progress import View
from buildbot_bench.core.figures import percent
from buildbot_bench.local.comparing import ComparisonCourse


def comparison_view() -> AbstractContextManager[View[ComparisonCourse]]:
    """What suits standard error."""
    return view(sys.stderr, _drawing, ComparisonLines(), beginning="comparing")


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


def _drawing(course: ComparisonCourse, _width: int) -> Drawing:
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
