"""What idle builders should build meanwhile; it measures nothing and decides nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from buildbot_bench.core.search.belief import Belief
from buildbot_bench.core.search.ground import FloatArray, Ground, IntArray


def commit_mass(ground: Ground, belief: Belief | None) -> FloatArray:
    """Cumulated probability that a relevant step is at or before each position, (n + 1,)."""
    if belief is None:
        return ground.mass
    kernels = belief.readings.kernels
    before = np.concatenate([[0.0], np.cumsum(belief.relevant)])
    mass: FloatArray = np.interp(ground.mass, ground.mass[kernels], before)
    return mass


def build_ahead(
    ground: Ground, mass: FloatArray, planned: list[int], count: int
) -> tuple[int, ...]:
    """The median of the likeliest interval that planned kernels leave open, `count` times over."""
    able = ground.able[~ground.built[ground.able]]
    marks = sorted({0, ground.n, *planned, *np.flatnonzero(ground.built).tolist()})
    chosen: list[int] = []
    while len(chosen) < count:
        kernel = _middle(able, mass, marks)
        if kernel is None:
            break
        chosen.append(int(ground.ask[kernel]))
        marks = sorted({*marks, kernel})
    return tuple(chosen)


def _middle(able: IntArray, mass: FloatArray, marks: list[int]) -> int | None:
    """The kernel that best halves the heaviest interval which has one; None if none has."""
    intervals = sorted(pairwise(marks), key=lambda i: (mass[i[0]] - mass[i[1]], i))
    for old, new in intervals:
        inside = able[np.searchsorted(able, old + 1) : np.searchsorted(able, new)]
        if len(inside):
            middle = 0.5 * (mass[old] + mass[new])
            flat = mass[new] - mass[old] <= 0
            away = np.abs(inside - 0.5 * (old + new) if flat else mass[inside] - middle)
            return int(inside[np.argmin(away)])
    return None
