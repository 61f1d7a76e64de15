"""Plots of measurements for mails and files, as PNG and SVG."""

from buildbot_bench.render.plots.canvas import Format
from buildbot_bench.render.plots.distribution import BoxGroup, MedianGroup, distribution, medians
from buildbot_bench.render.plots.history import (
    HistoryMark,
    HistoryMarkKind,
    HistoryPoint,
    control,
    history,
    posterior,
)

__all__ = [
    "BoxGroup",
    "Format",
    "HistoryMark",
    "HistoryMarkKind",
    "HistoryPoint",
    "MedianGroup",
    "control",
    "distribution",
    "history",
    "medians",
    "posterior",
]
