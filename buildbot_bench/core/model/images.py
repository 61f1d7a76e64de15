"""The spread between images of one revision, where several images were measured.

The spread of a position's m images is s² = Σ(level - mean)²/(m - 1). It counts where it is plainly
larger than build noise and boots explain; of several positions the widest counts, so that relinked
kernels that agree do not dilute a far one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import hypot, log, sqrt
from statistics import stdev

from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.model.spread import robust_level
from buildbot_bench.core.sample import Sample

_PLAINLY = 2.5  # times what noise explains
_FEWEST = 2  # images of a position: the fewest that have a spread


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
    widest = noise.sigma_build
    for _, group in groupby(sorted(levels), key=lambda level: level[0]):
        here = list(group)
        if len(here) < _FEWEST:
            continue
        own = stdev(level for _, level, _ in here)
        boots = min(boots for _, _, boots in here)
        explained = hypot(noise.sigma_build, noise.sigma_run / sqrt(boots))
        if own > _PLAINLY * explained:
            widest = max(widest, own)
    return widest
