"""Plots of boots as boxes: of the revisions of a search, and of images with their medians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.words import percent
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

_BOX_WIDTH = 0.5
_UPRIGHT_LABELS = 9  # more of them are turned
_MARGIN = 0.12


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxGroup:
    """The values of one revision. `side` is "old", "new", or empty when it is on neither level."""

    label: str
    values: tuple[float, ...]
    side: str = ""


def distribution(
    groups: Sequence[BoxGroup], metric: Metric, *, title: str, form: Format = Format.PNG
) -> bytes:
    """The picture of the groups, left to right; at least one, each with at least one value.

    A group of the new side tells by how much its mean differs from that of the last old one, which
    is what Student's t compares.
    The axis does not begin at 0: boxes are to be compared with each other, and the percentages
    say how far apart they are.
    """

    def paint(axes: Axes) -> None:
        for place, group in enumerate(groups):
            _box(axes, place, group)
        _fit(axes, groups)
        _tell_changes(axes, groups)
        axes.set_xticks(
            range(len(groups)),
            [named(group.label) for group in groups],
            rotation=0 if len(groups) <= _UPRIGHT_LABELS else 60,
        )
        axes.tick_params(axis="x", length=0)
        scale(axes, metric)

    return draw(paint, form=form, title=title)


def _box(axes: Axes, place: int, group: BoxGroup) -> None:
    colour = {"old": OLD, "new": NEW}.get(group.side, MUTED)
    low, high, middle = min(group.values), max(group.values), median(group.values)
    axes.bar(place, high - low, _BOX_WIDTH, bottom=low, color=colour, alpha=0.25, edgecolor=colour)
    axes.hlines(middle, place - _BOX_WIDTH / 2, place + _BOX_WIDTH / 2, color=colour, lw=2.2)
    # In the order in which they were measured: a drift or a second mode shows.
    step = _BOX_WIDTH / (len(group.values) + 1)
    across = [place - _BOX_WIDTH / 2 + step * (i + 1) for i in range(len(group.values))]
    axes.scatter(across, group.values, s=14, color=colour, edgecolor="white", lw=0.5, zorder=3)


def _fit(axes: Axes, groups: Sequence[BoxGroup]) -> None:
    low = min(min(group.values) for group in groups)
    high = max(max(group.values) for group in groups)
    room = _MARGIN * (high - low) or 0.01 * abs(high) or 1.0
    axes.set_ylim(low - room, high + 1.6 * room)  # the percentages need some
    axes.set_xlim(-0.6, len(groups) - 0.4)


def _tell_changes(axes: Axes, groups: Sequence[BoxGroup]) -> None:
    old = next((fmean(group.values) for group in reversed(groups) if group.side == "old"), 0.0)
    if not old:
        return
    for place, group in enumerate(groups):
        if group.side == "new":
            axes.annotate(
                percent(fmean(group.values) / old - 1),
                (place, max(group.values)),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                color=INK,
            )


_ALL_WIDTHS = 0.72  # of the boxes of one workload; the rest of the way to the next one is air
# Okabe and Ito's, the base's and the new one's first; hatched when they begin anew.
_COLOURS = (OLD, NEW, "#009e73", BAND, "#e69f00", "#cc79a7", "#f0e442", MUTED)
_HATCHES = ("", "///", "xxx", "...")
_NAME_COLUMNS = 40  # letters of an image's name
_LEGEND_COLUMNS = 4
# Of a name in the legend, at 9 points, with the box and the air beside it; of a row of names.
_LETTER_IN, _BESIDE_IN, _LINE_IN = 0.085, 0.6, 0.19
_COMFORTABLE = 12  # boxes that fit into the usual width
_BOX_IN = 0.45


@dataclass(frozen=True, kw_only=True, slots=True)
class MedianGroup:
    """The values of each image under one workload; any of them may be empty."""

    workload: str
    values: tuple[tuple[float, ...], ...]


def medians(
    groups: Sequence[MedianGroup],
    images: Sequence[str],
    metric: Metric,
    *,
    title: str,
    form: Format = Format.PNG,
) -> bytes:
    """The groups as netbenches draws them, from 0, of at most 32 images and at least one value."""
    boxes = len(groups) * len(images)
    width_in = min(7.6 + _BOX_IN * max(boxes - _COMFORTABLE, 0), 15.2)
    names = [one_line(image, columns=_NAME_COLUMNS) for image in images]
    columns = _legend_columns(names, width_in)

    def paint(axes: Axes) -> None:
        for number, name in enumerate(names):
            _boxes(axes, groups, number, len(images), name)
        axes.set_xticks(range(len(groups)), [named(group.workload) for group in groups])
        axes.tick_params(axis="x", length=0)
        top = max(value for group in groups for values in group.values for value in values)
        axes.set_ylim(0, 1.08 * top or 1.0)
        axes.figure.legend(loc="outside lower center", ncols=columns)
        scale(axes, metric)

    height_in = 3.6 + _LINE_IN * -(-len(images) // columns)
    return draw(paint, form=form, title=title, width_in=width_in, height_in=height_in)


def _legend_columns(names: Sequence[str], width_in: float) -> int:
    """How many names beside each other fit below the boxes."""
    column_in = _BESIDE_IN + _LETTER_IN * max(map(len, names))
    return max(1, min(len(names), _LEGEND_COLUMNS, int(width_in / column_in)))


def _boxes(axes: Axes, groups: Sequence[MedianGroup], number: int, of: int, label: str) -> None:
    found = [(place, group.values[number]) for place, group in enumerate(groups)]
    there = [(place, values) for place, values in found if values]
    width = _ALL_WIDTHS / of
    places = [place + (number - (of - 1) / 2) * width for place, _ in there]
    middles = [median(values) for _, values in there]
    whiskers = [
        [middle - min(values) for middle, (_, values) in zip(middles, there, strict=True)],
        [max(values) - middle for middle, (_, values) in zip(middles, there, strict=True)],
    ]
    again, colour = divmod(number, len(_COLOURS))
    axes.bar(
        places,
        middles,
        width,
        color=_COLOURS[colour],
        alpha=0.7,
        edgecolor=INK if again else _COLOURS[colour],
        hatch=_HATCHES[again],
        label=label,
    )
    cap = min(4, 20 / of)
    axes.errorbar(places, middles, whiskers, fmt="none", ecolor=INK, capsize=cap, lw=1.2)
