"""How far images of one revision lie apart, where several were measured; it judges no change."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import hypot, log, sqrt
from statistics import fmean

from buildbot_bench.core.noise.model import Noise
from buildbot_bench.core.noise.spread import robust_level
from buildbot_bench.core.sample import Sample

_PLAINLY = 2.5  # times what noise explains


def spread_of_images(samples: Iterable[Sample], noise: Noise) -> float:
    """The standard deviation to count with between images of unchanged code, as a fraction.

    It is that of `noise`, learnt from history, unless images of one and the same revision lie
    plainly further apart: then there is a layout of which history has no example.
    """
    levels: list[tuple[int, float, int]] = []
    for sample in samples:
        if logs := [log(value) for value in sample.values if value > 0]:
            level = robust_level(logs, noise.sigma_run)
            levels.append((sample.position, level, len(logs)))
    squares, df, shares = 0.0, 0, [0.0]
    for _, group in groupby(sorted(levels), key=lambda level: level[0]):
        here = list(group)
        middle = fmean(level for _, level, _ in here)
        squares += sum((level - middle) ** 2 for _, level, _ in here)
        df += len(here) - 1
        shares += [1 / boots for _, _, boots in here if len(here) > 1]
    own = sqrt(squares / df) if df else 0.0
    explained = hypot(noise.sigma_build, noise.sigma_run * sqrt(max(shares)))
    return own if own > _PLAINLY * explained else noise.sigma_build
