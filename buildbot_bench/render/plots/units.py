"""The vertical axes of a plot: the metric on the left, its traffic on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.render.plots.canvas import MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

# A simple IMIX (7 packets of 40 bytes, 4 of 576, 1 of 1500: 340.33 on average) with 14 bytes of
# Ethernet header is 354.33 bytes a packet.
IMIX_BITS_PER_PACKET = 2834.67


def scale(axes: Axes, metric: Metric) -> None:
    """Label the left axis in the metric's unit; packets per second also get IMIX bits on the right.

    Call it when the limits are set.
    """
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
