"""Medians as boxes from zero, with the least and the most: the graph of a result directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from buildbot_bench.core.sample import Metric
from buildbot_bench.render.plots.canvas import BAND, INK, MUTED, NEW, OLD, Format, draw, named
from buildbot_bench.render.plots.units import scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALL_WIDTHS = 0.72  # of the boxes of one workload; the rest of the way to the next one is air
# Okabe and Ito's, the base's and the new one's first; hatched when they begin anew.
_COLOURS = (OLD, NEW, "#009e73", BAND, "#e69f00", "#cc79a7", "#f0e442", MUTED)
_HATCHES = ("", "///")
_LEGEND_COLUMNS = 4
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
    """The picture of the groups, left to right, as netbenches draws them; of at most 16 images.

    At least one value must be there. The axis begins at 0, for a box's height is its value.
    """

    def paint(axes: Axes) -> None:
        for number, image in enumerate(images):
            _boxes(axes, groups, number, len(images), named(image))
        axes.set_xticks(range(len(groups)), [named(group.workload) for group in groups])
        axes.tick_params(axis="x", length=0)
        top = max(value for group in groups for values in group.values for value in values)
        # Room for the names of the images, row by row.
        rows = -(-len(images) // _LEGEND_COLUMNS)
        axes.set_ylim(0, (1.15 + 0.1 * rows) * top or 1.0)
        axes.legend(loc="upper right", ncols=min(len(images), _LEGEND_COLUMNS))
        scale(axes, metric)

    boxes = len(groups) * len(images)
    width_in = 7.6 + _BOX_IN * max(boxes - _COMFORTABLE, 0)
    return draw(paint, form=form, title=title, width_in=min(width_in, 15.2))


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
