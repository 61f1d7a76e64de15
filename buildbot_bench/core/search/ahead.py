"""The kernels that idle builders build ahead of a search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.search_range import FloatArray, IntArray, SearchRange


def commit_cdf(search_range: SearchRange, posterior: AveragedPosterior | None) -> FloatArray:
    """Cumulated probability that a relevant step is at or before each position, (n + 1,)."""
    if posterior is None:
        return search_range.prior_cdf
    kernels = posterior.readings.kernels
    before = np.concatenate([[0.0], np.cumsum(posterior.relevant)])
    prior_cdf: FloatArray = np.interp(
        search_range.prior_cdf, search_range.prior_cdf[kernels], before
    )
    return prior_cdf


def build_ahead(
    search_range: SearchRange, prior_cdf: FloatArray, planned: list[int], count: int
) -> tuple[int, ...]:
    """The median of the likeliest interval that planned kernels leave open, `count` times over."""
    able = search_range.able[~search_range.built[search_range.able]]
    marks = sorted({0, search_range.n, *planned, *np.flatnonzero(search_range.built).tolist()})
    chosen: list[int] = []
    while len(chosen) < count:
        kernel = _middle(able, prior_cdf, marks)
        if kernel is None:
            break
        chosen.append(int(search_range.ask[kernel]))
        marks = sorted({*marks, kernel})
    return tuple(chosen)


def _middle(able: IntArray, prior_cdf: FloatArray, marks: list[int]) -> int | None:
    """The kernel that best halves the heaviest interval which has one; None if none has."""
    intervals = sorted(pairwise(marks), key=lambda i: (prior_cdf[i[0]] - prior_cdf[i[1]], i))
    for old, new in intervals:
        inside = able[np.searchsorted(able, old + 1) : np.searchsorted(able, new)]
        if len(inside):
            middle = 0.5 * (prior_cdf[old] + prior_cdf[new])
            flat = prior_cdf[new] - prior_cdf[old] <= 0
            away = np.abs(inside - 0.5 * (old + new) if flat else prior_cdf[inside] - middle)
            return int(inside[np.argmin(away)])
    return None
