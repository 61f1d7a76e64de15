"""The rule by which a testbed that was out of control counts as recovered."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.health.model import ChartPolicy, Point

GOOD_ROUNDS = 2  # rounds in a row; chosen: one good round may be luck
_PLAIN = 3.0  # standard deviations: no round is good again that strays further


def has_recovered(points: Sequence[Point], shift: float | None, policy: ChartPolicy) -> bool:
    """Whether the last rounds since the signal, `GOOD_ROUNDS` of them, were good.

    `points` are those since the signal, it excluded; `shift` is by what fraction the control image
    was off when it came, None when it gave no value.
    """
    last = points[-GOOD_ROUNDS:]
    return len(last) == GOOD_ROUNDS and all(_is_good(point, shift, policy) for point in last)


def _is_good(point: Point, shift: float | None, policy: ChartPolicy) -> bool:
    """Nearer to the reference than to where it was when the chart signalled, and no wonder."""
    if point.deviation is None:
        return False
    off = abs(point.deviation)
    if off > max(_PLAIN * point.sigma, policy.tolerance):
        return False
    return shift is None or off < abs(shift) / 2
