"""Plots of measurements for mails and files, as PNG and SVG."""

from buildbot_bench.render.plots.canvas import Format
from buildbot_bench.render.plots.distribution import BoxGroup, distribution
from buildbot_bench.render.plots.history import (
    HistoryMark,
    HistoryMarkKind,
    HistoryPoint,
    control,
    history,
)
from buildbot_bench.render.plots.medians import MedianGroup, medians
from buildbot_bench.render.plots.posterior import posterior

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
