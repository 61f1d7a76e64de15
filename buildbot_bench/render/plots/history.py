"""The plots of a series over its revisions, and of a control chart over its rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from buildbot_bench.core.health import Chart, Point
from buildbot_bench.core.sample import Metric
from buildbot_bench.render.plots.canvas import (
    BAND,
    INK,
    MUTED,
    NEW,
    OLD,
    Format,
    draw,
    named,
    scale,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 60  # rounds at a mail's width


def control(chart: Chart, *, title: str, form: Format = Format.PNG) -> bytes:
    """The picture of the newest rounds of a chart, those without a value left out."""
    points = [point for point in chart.points if point.deviation is not None][-_MOST:]

    def paint(axes: Axes) -> None:
        places = range(len(points))
        limits = [100 * point.limit for point in points]
        axes.fill_between(places, [-x for x in limits], limits, color=BAND, alpha=0.2, lw=0)
        axes.axhline(0.0, color=INK, lw=0.8)
        axes.plot(places, [100 * point.average for point in points], color=OLD, lw=1.2)
        for is_bad, colour, marker in ((False, OLD, "o"), (True, NEW, "D")):
            some = [n for n in places if _is_bad(points[n]) is is_bad]
            offs = [100 * (points[n].deviation or 0.0) for n in some]
            axes.scatter(some, offs, s=22, color=colour, marker=marker, zorder=3)
        axes.set_ylabel("off the level, %")
        axes.set_xlabel(
            "round; dots: single rounds, diamonds: out of control, line: their moving average"
        )
        axes.locator_params(axis="x", integer=True)

    return draw(paint, form=form, title=title, height_in=2.8)


def _is_bad(point: Point) -> bool:
    return point.signal is not None or point.excluded


# What of the noise the band shows: 19 of 20 boots of unchanged code lie within it.
_BAND_SIGMAS = 1.96
_TICKS = 7


class HistoryMarkKind(StrEnum):
    """What happened at a revision; only a culprit begins a new level."""

    ALARM = "alarm"
    CULPRIT = "culprit"


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPoint:
    """The values of one revision, which is the `position`th of its branch."""

    position: int
    label: str
    values: tuple[float, ...]
    epoch: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryMark:
    """Something that happened at a position; `text` is a word or two."""

    position: int
    kind: HistoryMarkKind
    text: str = ""


def history(
    points: Sequence[HistoryPoint],
    metric: Metric,
    *,
    title: str,
    sigma: float = 0.0,
    marks: Sequence[HistoryMark] = (),
    form: Format = Format.PNG,
) -> bytes:
    """The picture of the points, oldest first; at least one, each with at least one value.

    `sigma` is the noise from one image to the next, a fraction of the level. A level lasts until
    a culprit or a new epoch.
    """

    def paint(axes: Axes) -> None:
        for level in _levels(points, marks):
            _draw_level(axes, level, sigma)
        places = [point.position for point in points]
        middles = [median(point.values) for point in points]
        spread = [
            [middle - min(point.values) for middle, point in zip(middles, points, strict=True)],
            [max(point.values) - middle for middle, point in zip(middles, points, strict=True)],
        ]
        axes.errorbar(
            places, middles, spread, fmt="o", ms=3.2, color=OLD, ecolor=OLD, elinewidth=0.8
        )
        axes.margins(x=0.02, y=0.12)
        _draw_epochs(axes, points)
        _draw_marks(axes, marks)
        _name_revisions(axes, points)
        scale(axes, metric)

    return draw(paint, form=form, title=title)


def _levels(
    points: Sequence[HistoryPoint], marks: Sequence[HistoryMark]
) -> Iterator[list[HistoryPoint]]:
    """The points of each level, cut where a culprit or a new epoch begins another."""
    begins = {mark.position for mark in marks if mark.kind is HistoryMarkKind.CULPRIT}
    level: list[HistoryPoint] = []
    for point in points:
        if level and (
            point.epoch != level[-1].epoch
            or any(level[-1].position < begin <= point.position for begin in begins)
        ):
            yield level
            level = []
        level.append(point)
    yield level


def _draw_level(axes: Axes, level: Sequence[HistoryPoint], sigma: float) -> None:
    middle = median(median(point.values) for point in level)
    first, last = level[0].position, level[-1].position
    band = _BAND_SIGMAS * sigma * middle
    axes.fill_between([first, last], middle - band, middle + band, color=BAND, alpha=0.25, lw=0)
    axes.hlines(middle, first, last, color=BAND, lw=1.2)


def _draw_epochs(axes: Axes, points: Sequence[HistoryPoint]) -> None:
    for before, after in pairwise(points):
        if before.epoch != after.epoch:
            middle = (before.position + after.position) / 2
            axes.axvline(middle, color=MUTED, lw=1.0, ls=":")
            _write(axes, middle, 0.0, f"epoch {after.epoch}", offset=(4, 4), color=MUTED)


def _draw_marks(axes: Axes, marks: Sequence[HistoryMark]) -> None:
    """A triangle above what is marked: filled for a culprit, hollow for an alarm."""
    above = axes.get_xaxis_transform()
    for mark in marks:
        culprit = mark.kind is HistoryMarkKind.CULPRIT
        axes.axvline(mark.position, color=NEW, lw=0.8, ls="-" if culprit else ":", zorder=1)
        axes.plot(
            mark.position,
            1.0,
            marker="v",
            ms=7,
            color=NEW,
            markerfacecolor=NEW if culprit else "white",
            transform=above,
            clip_on=False,
            zorder=4,
        )
        colour = NEW if culprit else INK
        _write(axes, mark.position, 1.0, mark.text or mark.kind.value, offset=(7, -4), color=colour)


def _write(
    axes: Axes, place: float, height: float, text: str, *, offset: tuple[int, int], color: str
) -> None:
    """A name at a position, at a height that is a share of the axes'."""
    axes.annotate(
        named(text),
        (place, height),
        xycoords=("data", "axes fraction"),
        xytext=offset,
        textcoords="offset points",
        color=color,
        bbox={"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1},
    )


def _name_revisions(axes: Axes, points: Sequence[HistoryPoint]) -> None:
    """Some of the revisions by name, evenly spread over the axis."""
    first, last = points[0].position, points[-1].position
    wanted = [first + (last - first) * share / (_TICKS - 1) for share in range(_TICKS)]
    chosen = {min(points, key=lambda p: abs(p.position - place)).position for place in wanted}
    labels = {point.position: named(point.label) for point in points}
    places = sorted(chosen)
    axes.set_xticks(places, [labels[place] for place in places])
