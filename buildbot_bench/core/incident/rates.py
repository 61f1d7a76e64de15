"""The belief about where a branch broke when good revisions may fail and broken ones may work.

Each trial is Bernoulli: before the culprit with the rate of failing of good revisions, from it on
with that of broken ones. A grid of both rates is weighed by the trials (T. S. Henderson et al.,
"Flake Aware Culprit Finding", 2023).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Rates of failing, from a rate that one trial in a thousand shows to an even chance.
_GOOD = (0.001, 0.03, 0.1, 0.2, 0.35)
_BAD = (0.45, 0.6, 0.75, 0.9, 0.999)
# Prior probability that a breakage shows each time and good revisions never fail: most do.
_EACH_TIME = 0.5
# Prior probability that all of a range is broken, or nothing of it; and that one which broke is
# mended within it. Chosen on other seeds than those that judge: with .02 a race costs half more.
_BEYOND = 0.01
_MENDED = 0.0002


def place_posterior(
    works: Sequence[int], fails: Sequence[int], commits: Sequence[int]
) -> FloatArray:
    """Return the probability of each place of the culprit, (m + 1,).

    Trials of m revisions, oldest first, ended so; `commits` counts those between a revision and
    the one before it, (m - 1,). Place j lies after j revisions: at 0 all are broken, at m none is.
    A range may have been broken and mended before: the place is that of the newest breakage.
    """
    good, bad = (axis.ravel() for axis in np.meshgrid(_GOOD, _BAD))
    even = (1 - _EACH_TIME) / (len(good) - 1)
    each_time = (good == _GOOD[0]) & (bad == _BAD[-1])
    worked, failed = np.asarray(works, dtype=float), np.asarray(fails, dtype=float)
    before, since = (
        np.outer(np.log1p(-rate), worked) + np.outer(np.log(rate), failed) for rate in (good, bad)
    )
    places = _newest_breakage(before, since, np.asarray(commits, dtype=float))
    log_weight = places + np.log(np.where(each_time, _EACH_TIME, even))
    weight = np.exp(log_weight - log_weight.max()).sum(axis=1)
    posterior: FloatArray = weight / weight.sum()
    return posterior


def _newest_breakage(before: FloatArray, since: FloatArray, commits: FloatArray) -> FloatArray:
    """Return ln P(trials, place) under each pair of rates, (m + 1, rates).

    `before` and `since` are ln P(trials of a revision) where it is good and where it is broken. A
    forward pass over both states leads to each place; from there on all is broken.
    """
    rest = np.cumsum(since[:, ::-1], axis=1)[:, ::-1]
    good, broken = np.log(1 - _BEYOND) + before[:, 0], np.log(_BEYOND) + since[:, 0]
    place = [np.log(_BEYOND) + rest[:, 0]]
    for j, share in enumerate(commits / commits.sum(), start=1):
        place.append(good + np.log(share) + rest[:, j])
        stays = good + np.log1p(-min(share, 1 - _BEYOND))
        mends, breaks = broken + np.log(_MENDED * share), good + np.log(share)
        keeps = broken + np.log1p(-_MENDED * share)
        good = np.logaddexp(stays, mends) + before[:, j]
        broken = np.logaddexp(keeps, breaks) + since[:, j]
    return np.array([*place, good])
