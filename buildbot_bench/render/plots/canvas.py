"""The canvas of all plots: size, fonts, colours, file formats and vertical axes.

matplotlib is imported when the first picture is drawn: a master that mails nothing does not wait
for it. pyplot, which keeps figures in global state, is not used.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.sample import PPS, Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

# Okabe and Ito's blue, vermilion and sky blue: told apart by everybody, and in print by lightness.
OLD = "#0072b2"
NEW = "#d55e00"
BAND = "#56b4e9"
MUTED = "#8a8a8a"
INK = "#222222"

_DPI = 110
_TITLE_COLUMNS = 90
_LABEL_COLUMNS = 24

# A dark mail client shows the picture on its own white sheet. Text in an SVG stays text.
_STYLE: Any = {
    "font.family": "DejaVu Sans",  # matplotlib brings it along: the same on every master
    "font.size": 9.0,
    "text.color": INK,
    "text.parse_math": False,  # a stranger's dollar signs are no formula
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.0,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "buildbot-bench",  # the same ids every time
    "xtick.color": INK,
    "ytick.color": INK,
}

# matplotlib's settings are the process's own, and pictures are drawn in threads.
_ONE_AT_A_TIME = threading.Lock()


class Format(StrEnum):
    """PNG for mail, SVG for files and pages."""

    PNG = "png"
    SVG = "svg"


def draw(
    paint: Callable[[Axes], None],
    *,
    form: Format,
    title: str,
    width_in: float = 7.6,
    height_in: float = 3.6,
) -> bytes:
    """The picture that `paint` makes on empty axes, with a title; the same bytes every time."""
    from matplotlib import rc_context  # noqa: PLC0415 - see the module's words
    from matplotlib.figure import Figure  # noqa: PLC0415

    with _ONE_AT_A_TIME, rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box stands for it
        figure = Figure(figsize=(width_in, height_in), layout="constrained", facecolor="white")
        axes = figure.add_subplot()
        axes.set_title(one_line(title, columns=_TITLE_COLUMNS))
        paint(axes)
        return _saved(figure, form, title)


def named(label: str) -> str:
    """A revision's or testbed's name as it may stand in a picture."""
    return one_line(label, columns=_LABEL_COLUMNS)


def _saved(figure: Figure, form: Format, title: str) -> bytes:
    """The file without the date and the library's name: they say nothing of the data."""
    dull = {"Software": None} if form is Format.PNG else {"Date": None, "Creator": None}
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form.value, dpi=_DPI, metadata={**dull, "Title": one_line(title)})
    return buffer.getvalue()


# A simple IMIX (7 packets of 40 bytes, 4 of 576, 1 of 1500: 340.33 on average) with 14 bytes of
# Ethernet header is 354.33 bytes a packet.
IMIX_BITS_PER_PACKET = 2834.67


def scale(axes: Axes, metric: Metric) -> None:
    """Once limits are set: label the left axis in the metric's unit, and packets as IMIX bits."""
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415 - drawn seldom, see canvas

    axes.set_ylabel(f"{metric.name}, {metric.unit}")
    axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
    if metric.unit != PPS.unit:
        return
    right = axes.secondary_yaxis("right", functions=(_as_bits, _as_packets))
    right.set_ylabel("as IMIX throughput", color=MUTED)
    right.yaxis.set_major_formatter(EngFormatter(unit="b/s", sep=" "))
    right.tick_params(colors=MUTED)


def _as_bits(pps: ArrayLike) -> ArrayLike:
    return np.asarray(pps, dtype=float) * IMIX_BITS_PER_PACKET


def _as_packets(bps: ArrayLike) -> ArrayLike:
    return np.asarray(bps, dtype=float) / IMIX_BITS_PER_PACKET
