"""The plot of a control chart: each round's level, the limits, and rounds beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from buildbot_bench.core.health import Chart, Point
from buildbot_bench.render.plots.canvas import BAND, INK, NEW, OLD, Format, draw

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
