"""The prior of a range's commits by the history of an exact figure.

An exact figure has no noise: where it moved, a commit changed what the kernel executes. With moves
m_i of the commits 1..n and base weights b_i the weights are

    w_i = (1 - s) · b_i·q_i / Σ b_j·q_j  +  s · [b_i > 0] / Σ [b_j > 0]
    q_i ~ min(|m_i|, relevant)

with s = FLAT_SHARE of core.touched. Moves of either sign count: fewer instructions may take longer.
Because of the flat share, a wrong prior costs one bit more than a flat one over the possible
culprits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.sample import NoiseClass, Sample
from buildbot_bench.core.touched import FLAT_SHARE

NO_MOVE = 0.0005
"""Moves below this fraction are none: boots of FreeBSD 13.1 count alike to .04 % (core.model)."""


def exact_levels(samples: Iterable[Sample]) -> dict[int, float]:
    """The figure of each position in the epoch that was counted last; sampled metrics have none."""
    exact = [
        sample
        for sample in samples
        if sample.metric.noise is NoiseClass.EXACT and any(v > 0 for v in sample.values)
    ]
    if not exact:
        return {}
    last = max(exact, key=lambda sample: max(i.at_s for i in sample.iterations))
    values: dict[int, list[float]] = {}
    for sample in exact:
        if (sample.metric, sample.epoch) == (last.metric, last.epoch):
            values.setdefault(sample.position, []).extend(v for v in sample.values if v > 0)
    return {position: median(of) for position, of in values.items()}


def exact_weights(
    n: int,
    levels: Mapping[int, float],
    *,
    relevant: float,
    base: Sequence[float] | None = None,
) -> tuple[float, ...] | None:
    """The weights of the commits 1..n, which sum to 1; `base` when the figure never moved.

    `levels` are exact figures by position, 0..n, of as many positions as were counted; a move
    between two of them is shared by the commits between. `relevant` is the smallest effect that
    is looked for, a fraction. `base` are n weights of other evidence; None: flat.
    Raises UsageError for positions outside 0..n, figures <= 0, or a base of another length.
    """
    _check(n, levels, base)
    informed = _moves(n, levels, relevant)
    if base is None or sum(base) <= 0:
        given, base = np.ones(n), None
    else:
        given = np.asarray(base, dtype=float)
    product = informed * given
    if product.sum() <= 0:
        return None if base is None else tuple(base)
    flat = given > 0
    mixed = (1 - FLAT_SHARE) * product / product.sum() + FLAT_SHARE * flat / flat.sum()
    return tuple(mixed.tolist())


def _moves(n: int, levels: Mapping[int, float], relevant: float) -> np.ndarray:
    """What each commit may have moved the figure by, at most `relevant`, (n,)."""
    moves = np.zeros(n)
    for (old, before), (new, after) in pairwise(sorted(levels.items())):
        size = abs(math.log(after / before))
        if size >= NO_MOVE:
            moves[old:new] = min(size, relevant) / (new - old)
    return moves


def _check(n: int, levels: Mapping[int, float], base: Sequence[float] | None) -> None:
    outside = [position for position in levels if not 0 <= position <= n]
    if outside:
        raise UsageError(
            f"position {min(outside)} is outside of the range 0..{n}",
            hint="give the figures of the range alone",
        )
    if any(level <= 0 for level in levels.values()):
        raise UsageError("an exact figure is not positive", hint="drop measurements that failed")
    if base is not None and len(base) != n:
        raise UsageError(f"there are {len(base)} base weights for {n} commits")
