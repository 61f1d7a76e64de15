"""The plots of a series over its revisions, of a control chart, and of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING

from buildbot_bench.core.control_chart import Chart, Point
from buildbot_bench.core.report.context import SearchStage
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

    `sigma` is the images' noise, a fraction. A level lasts until a culprit or a new epoch.
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


_LEAST_WIDTH = 0.006  # of the range, so that a single commit of thousands is seen
_NAME_WIDTH = 0.12  # of the range
_ROW_IN = 0.13
_LEAST_HEIGHT_IN, _MOST_HEIGHT_IN = 2.4, 7.0


def posterior(
    stages: Sequence[SearchStage],
    commits: int,
    *,
    title: str,
    ends: tuple[str, str],
    culprits: Mapping[int, str] = MappingProxyType({}),
    form: Format = Format.PNG,
) -> bytes:
    """The picture of the stages, the first on top; at least one.

    `commits` is how many lie in the range, `ends` are its two names, `culprits` maps the position
    of each culprit to its name, the one that matters most first. A bar is a place where a step may
    lie, the darker the likelier; a dot is what was measured.
    """

    def paint(axes: Axes) -> None:
        axes.grid(visible=False)
        for culprit in culprits:
            axes.axvline(culprit, color=NEW, lw=1.0, zorder=1)
        for row, stage in enumerate(stages):
            _bars(axes, row, stage, commits)
        axes.scatter(
            [stage.position for stage in stages],
            range(len(stages)),
            s=13,
            color=INK,
            zorder=3,
            clip_on=False,
        )
        axes.set_ylim(len(stages) - 0.4, -0.6)
        axes.set_xlim(-0.01 * commits, 1.01 * commits)
        axes.set_ylabel("measurement")
        axes.set_xlabel("a dot was measured; the darker, the likelier a step lies there")
        axes.yaxis.set_major_formatter(lambda row, _: f"{row + 1:.0f}")
        axes.set_yticks(range(0, len(stages), 1 + len(stages) // 12))
        _name_places(axes, {0: ends[0], commits: ends[1]}, culprits)

    height_in = min(max(_LEAST_HEIGHT_IN, 1.2 + _ROW_IN * len(stages)), _MOST_HEIGHT_IN)
    return draw(paint, form=form, title=title, height_in=height_in)


def _bars(axes: Axes, row: int, stage: SearchStage, commits: int) -> None:
    """All is suspected, faintly, as long as the ends are not measured."""
    if not stage.suspects:
        axes.barh(row, commits if stage.left else 0, 0.8, color=BAND, alpha=0.15, lw=0)
        return
    for place in stage.suspects:
        width = max(place.new - place.old, _LEAST_WIDTH * commits)
        middle = (place.old + place.new) / 2
        axes.barh(
            row,
            width,
            0.8,
            left=middle - width / 2,
            color=OLD,
            alpha=0.2 + 0.7 * min(place.probability, 1.0),
            lw=0,
            zorder=2,
        )


def _name_places(axes: Axes, ends: Mapping[int, str], culprits: Mapping[int, str]) -> None:
    """The culprits and the ends by name, unless a name would cover one that matters more."""
    room = _NAME_WIDTH * max(ends)
    places: dict[int, str] = {}
    for place, label in [*culprits.items(), *ends.items()]:
        if all(abs(place - other) > room for other in places):
            places[place] = label
    axes.set_xticks(list(places), [named(label) for label in places.values()])
    for tick, place in zip(axes.get_xticklabels(), places, strict=True):
        tick.set_color(NEW if place in culprits else INK)
