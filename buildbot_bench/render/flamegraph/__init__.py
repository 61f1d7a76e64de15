"""Flame graphs as SVG, of one capture or of the difference of two."""

from buildbot_bench.render.flamegraph.picture import flame_difference, flame_graph

__all__ = ["flame_difference", "flame_graph"]
