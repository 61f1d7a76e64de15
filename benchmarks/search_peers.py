"""Others' bisections as policies: each takes a lab and returns the pairs that it accuses.

git bisect with Student's t or the nearer end, a fixed number of boots by an oracle, SPRT per step
(Wald 1945), Chromium Pinpoint's rule (catapult: dashboard/pinpoint/models/compare), asv's `find`,
and something like LKP's (ranges disjoint). What is not public is approximated, and called -like.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.search_lab import Lab

Pairs = set[tuple[int, int]]
# (values of a revision, of the old end, of the new end) → whether it goes with the new end.
Rule = Callable[[list[float], list[float], list[float]], bool]


def _boots(lab: Lab, position: int, count: int) -> list[float]:
    return [lab.boot(position) for _ in range(count)]


def _middle(lab: Lab, old: int, new: int) -> int | None:
    """The testable revision nearest to the middle; broken ones are built to be known."""
    middle = (old + new) // 2
    order = sorted(range(old + 1, new), key=lambda p: (abs(p - middle), p))
    return next((p for p in order if lab.testable(p)), None)


def _bisect(lab: Lab, goes_with_new: Callable[[int], bool]) -> Pairs:
    old, new = 0, lab.world.n
    while (middle := _middle(lab, old, new)) is not None:
        if goes_with_new(middle):
            new = middle
        else:
            old = middle
    return {(old, new)}


def _differ(a: list[float], b: list[float]) -> bool:
    return bool(stats.ttest_ind(a, b).pvalue < 0.05)


def by_t(middle: list[float], old: list[float], _new: list[float]) -> bool:
    """Bad is what differs from the old end at 95 %."""
    return _differ(middle, old)


def by_nearer_end(middle: list[float], old: list[float], new: list[float]) -> bool:
    """Bad is what lies nearer to the new end's mean."""
    return bool(abs(np.mean(middle) - np.mean(new)) < abs(np.mean(middle) - np.mean(old)))


def git(lab: Lab, *, boots: int, rule: Rule) -> Pairs:
    """`git bisect run` with a fixed number of boots per revision."""
    old, new = _boots(lab, 0, boots), _boots(lab, lab.world.n, boots)
    if boots > 1 and not _differ(old, new):
        return set()
    return _bisect(lab, lambda p: rule(_boots(lab, p, boots), old, new))


def oracle(lab: Lab) -> Pairs:
    """The nearer end, with the least number of boots that is wrong in 1 % for the true effect."""
    effect = max(map(abs, lab.steps.values()), default=0.02)
    steps = max(np.log2(lab.world.n), 1.0)
    z = stats.norm.isf(0.01 / steps)
    # The threshold is the mean of two means of N boots: variance 1/N + 1/(2 N) in all.
    boots = int(np.ceil(1.5 * (2 * z * lab.world.sigma_run / effect) ** 2))
    return git(lab, boots=max(boots, 1), rule=by_nearer_end)


def sprt(lab: Lab, *, ends: int = 5, most: int = 200) -> Pairs:
    """Wald's test at each revision, between the levels of the ends, with sigma known."""
    old, new = _boots(lab, 0, ends), _boots(lab, lab.world.n, ends)
    if not _differ(old, new):
        return set()
    a, b, sigma = float(np.mean(old)), float(np.mean(new)), lab.world.sigma_run
    bound = np.log(max(np.log2(lab.world.n), 1) / 0.01)

    def goes_with_new(position: int) -> bool:
        log_ratio = 0.0
        for _ in range(most):
            y = lab.boot(position)
            log_ratio += ((y - a) ** 2 - (y - b) ** 2) / (2 * sigma**2)
            if abs(log_ratio) > bound:
                break
        return log_ratio > 0

    return _bisect(lab, goes_with_new)


def pinpoint_like(lab: Lab, *, first: int = 10, most: int = 160, most_in_all: int = 3000) -> Pairs:
    """Ten boots, doubled up to 160 while neighbours are neither alike nor different; recursive."""
    values: dict[int, list[float]] = {}

    def compare(old: int, new: int) -> bool:
        while True:
            p = min(
                stats.mannwhitneyu(values[old], values[new]).pvalue,
                stats.ks_2samp(values[old], values[new]).pvalue,
            )
            if p < 0.01 or p > 0.05 or len(values[new]) >= most:
                return bool(p < 0.01)
            for position in (old, new):
                values[position] += _boots(lab, position, len(values[position]))

    def search(old: int, new: int) -> Pairs:
        for position in (old, new):
            if position not in values:
                values[position] = _boots(lab, position, first)
        if not compare(old, new):
            return set()
        middle = None if lab.iterations > most_in_all else _middle(lab, old, new)
        if middle is None:
            return {(old, new)}
        return search(old, middle) | search(middle, new)

    return search(0, lab.world.n)


def lkp_like(lab: Lab, *, first: int = 3, most: int = 20) -> Pairs:
    """Boot a revision until its range is disjoint from one end's by half the ends' difference."""
    old, new = _boots(lab, 0, 2 * first), _boots(lab, lab.world.n, 2 * first)
    need = abs(float(np.median(old) - np.median(new))) / 2
    if not (min(old) > max(new) or min(new) > max(old)):
        return set()

    def goes_with_new(position: int) -> bool:
        here = _boots(lab, position, first)
        while len(here) < most:
            from_old, from_new = (_gap(here, end) > need for end in (old, new))
            if from_old != from_new:
                return from_old
            here.append(lab.boot(position))
        return by_nearer_end(here, old, new)

    return _bisect(lab, goes_with_new)


def _gap(a: list[float], b: list[float]) -> float:
    return max(min(a) - max(b), min(b) - max(a))


PEERS: dict[str, Callable[[Lab], Pairs]] = {
    "git N=5, t": partial(git, boots=5, rule=by_t),
    "git N=10, t": partial(git, boots=10, rule=by_t),
    "git N=5, nearer": partial(git, boots=5, rule=by_nearer_end),
    "oracle N": oracle,
    "SPRT": sprt,
    "Pinpoint-like": pinpoint_like,
    "asv find": partial(git, boots=1, rule=by_nearer_end),
    "LKP-like": lkp_like,
}
