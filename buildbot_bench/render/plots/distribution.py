"""The plot of each revision's boots: a box from least to most, the median, every value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from buildbot_bench.core.report.words import percent
from buildbot_bench.core.sample import Metric
from buildbot_bench.render.plots.canvas import INK, MUTED, NEW, OLD, Format, draw, named, scale

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
