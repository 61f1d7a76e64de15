"""Medians as boxes from zero, with the least and the most: the graph of a result directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from buildbot_bench.core.sample import Metric
from buildbot_bench.render.plots.canvas import INK, NEW, OLD, Format, draw, named
from buildbot_bench.render.plots.units import scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 0.36
_COLOURS = (OLD, NEW)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """The values of two images under one workload; either may be empty."""

    workload: str
    values: tuple[tuple[float, ...], tuple[float, ...]]


def medians(
    pairs: Sequence[Pair],
    images: tuple[str, str],
    metric: Metric,
    *,
    title: str,
    form: Format = Format.PNG,
) -> bytes:
    """The picture of the pairs, left to right, as netbenches draws them.

    At least one value must be there. The axis begins at 0, for a box's height is its value.
    """

    def paint(axes: Axes) -> None:
        for side, (image, colour) in enumerate(zip(images, _COLOURS, strict=True)):
            _boxes(axes, pairs, side, named(image), colour)
        axes.set_xticks(range(len(pairs)), [named(pair.workload) for pair in pairs])
        axes.tick_params(axis="x", length=0)
        top = max(value for pair in pairs for values in pair.values for value in values)
        axes.set_ylim(0, 1.25 * top or 1.0)  # room for the names of the images
        axes.legend(loc="upper right", ncols=2)
        scale(axes, metric)

    return draw(paint, form=form, title=title)


def _boxes(axes: Axes, pairs: Sequence[Pair], side: int, label: str, colour: str) -> None:
    there = [(place, pair.values[side]) for place, pair in enumerate(pairs) if pair.values[side]]
    places = [place + (side - 0.5) * _WIDTH for place, _ in there]
    middles = [median(values) for _, values in there]
    whiskers = [
        [middle - min(values) for middle, (_, values) in zip(middles, there, strict=True)],
        [max(values) - middle for middle, (_, values) in zip(middles, there, strict=True)],
    ]
    axes.bar(places, middles, _WIDTH, color=colour, alpha=0.7, edgecolor=colour, label=label)
    axes.errorbar(places, middles, whiskers, fmt="none", ecolor=INK, capsize=4, lw=1.2)
