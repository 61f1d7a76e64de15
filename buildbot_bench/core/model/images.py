"""The spread between images of one revision, and noise widened by marked steps.

The spread of a position's m images is s² = Σ(level - mean)²/(m - 1). It counts where it is plainly
larger than build noise and boots explain; of several positions the widest counts, so that relinked
kernels that agree do not dilute a far one.

Differences of neighbouring images give the build noise; Huber's scale (`spread`) takes a change of
level for an outlier. A step marked as noise is none: with d the difference of the levels next to
it, over n1 and n2 boots,

    e = max(d² - sigma_run²·(1/n1 + 1/n2), 0) / 2

is an estimate of sigma_build² with one degree of freedom. k of them, pooled with the learnt noise,
give

    sigma² = (nu·sigma_build² + e1 + ... + ek) / (nu + k),

or sigma_build² if that is more. The degrees of freedom stay, since marks are chosen for their size.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from math import hypot, log, sqrt
from statistics import stdev

from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.model.spread import robust_level
from buildbot_bench.core.sample import NoiseClass, Sample

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


_NEAREST = 3  # revisions of each side; of two nobody knows which one is an outlier


def with_marked_noise(
    noise: Noise, history: Sequence[Sample], places: Iterable[tuple[int, int]]
) -> Noise:
    """The noise of a series, given the steps of it that a person says are noise.

    `places` are pairs of the first position behind a step that may be at its new level and the
    first that surely is. The same noise where there is none, where a side has no boots, and of a
    metric that is counted: images of one code count alike, under any mark. `history` is what
    the noise was learnt from.
    """
    chosen = sorted(set(places))
    if not chosen or any(sample.metric.noise is NoiseClass.EXACT for sample in history):
        return noise
    boots = _boots(history)
    found = [
        excess
        for began, judged in chosen
        if (excess := _excess(boots, began, judged, noise.sigma_run)) is not None
    ]
    pooled = (noise.df_build * noise.sigma_build**2 + sum(found)) / (noise.df_build + len(found))
    if pooled <= noise.sigma_build**2:
        return noise
    return replace(noise, sigma_build=math.sqrt(pooled))


def _boots(history: Sequence[Sample]) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for sample in sorted(history, key=lambda sample: (sample.position, sample.image)):
        logs = [math.log(value) for value in sample.values if 0 < value < math.inf]
        if logs:
            found.setdefault(sample.position, []).extend(logs)
    return found


def _excess(
    boots: dict[int, list[float]], began: int, judged: int, sigma_run: float
) -> float | None:
    """The e of a step; None where one of its sides was not measured."""
    older = [logs for position, logs in boots.items() if position < began][-_NEAREST:]
    newer = [logs for position, logs in boots.items() if position >= judged][:_NEAREST]
    if not older or not newer:
        return None
    (before, of_before), (after, of_after) = (_level(side, sigma_run) for side in (older, newer))
    explained = sigma_run**2 * (1 / of_before + 1 / of_after)
    return max((after - before) ** 2 - explained, 0.0) / 2


def _level(side: Sequence[Sequence[float]], sigma_run: float) -> tuple[float, int]:
    """The level of the middle one of some revisions, and how many boots it has."""
    levels = sorted((robust_level(logs, sigma_run), len(logs)) for logs in side)
    return levels[len(levels) // 2]
