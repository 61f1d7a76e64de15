"""`python -m benchmarks prebuilt`: builds of searches where others have built every tenth revision.

1600 commits with one planted step, whose ends were measured before, as an alarm leaves them. The
prebuilt kind reads 6 % less, for it was built by another compiler; images differ by .8 % and boots
by .5 %. Builds are images of our own that a search asked for; those made ahead in vain are not.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import exp, log1p
from statistics import fmean

import numpy as np

from benchmarks.scale import seeds_of
from benchmarks.search_lab import COSTS
from benchmarks.search_runs import SEED
from buildbot_bench.core.search import (
    PREBUILT,
    Evidence,
    Measure,
    Measurement,
    SearchPolicy,
    plan,
)

SEARCHES, QUICK, COMMITS, EVERY, KNOWN = 20, 4, 1600, 10, 3
EFFECTS = (-0.25, -0.12, -0.05)
MOST_BUILT = 1 / 3  # of what is built without, at the first effect
_OFFSET, _IMAGES, _RUNS = -0.06, 0.008, 0.005


@dataclass(frozen=True, kw_only=True)
class Took:
    """What one search built and booted, and whether it named the planted commit alone."""

    builds: int
    boots: int
    right: bool


def searched(effect: float, every: int, seed: int) -> Took:
    """One search; `every` 0: nothing is prebuilt."""
    rng = np.random.default_rng(seed)
    culprit = int(rng.integers(1, COMMITS + 1))
    luck: dict[tuple[int, int], float] = {}

    def boot(position: int, image: int, at_s: float) -> Measurement:
        kind = _OFFSET if image == PREBUILT else 0.0
        off = luck.setdefault((position, image), kind + rng.normal(0, _IMAGES))
        level = (log1p(effect) if position >= culprit else 0.0) + off
        value = exp(level + rng.normal(0, _RUNS))
        return Measurement(position=position, image=image, value=value, at_s=at_s)

    known = tuple(boot(end, 0, 0.0) for end in (0, COMMITS) for _ in range(KNOWN))
    ends = frozenset({0, COMMITS})
    there = frozenset(range(0, COMMITS + 1, every)) if every else frozenset()
    evidence = Evidence(measurements=known, built=ends, prebuilt=there)
    policy, boots, had = SearchPolicy(claimed=effect), 0, set[tuple[int, int]]()
    while isinstance(asked := plan(COMMITS, evidence, COSTS, policy), Measure):
        boots += 1
        had.add((asked.position, asked.image))
        measured = boot(asked.position, asked.image, boots * COSTS.boot_s)
        evidence = replace(evidence, measurements=(*evidence.measurements, measured))
    builds = {one for one in had if one[1] != PREBUILT and one not in {(0, 0), (COMMITS, 0)}}
    right = [(step.old, step.new) for step in asked.steps] == [(culprit - 1, culprit)]
    return Took(builds=len(builds), boots=boots, right=right)


def main(argv: Sequence[str] | None = None) -> int:
    """Search with and without; 1 if more is built than is wanted, or a culprit is wrong."""
    seeds = seeds_of(argv, "prebuilt", __doc__, usual=SEARCHES, quick=QUICK, first=SEED)
    print(f"{'step':>6s} {'builds':>16s} {'share':>6s} {'boots':>16s} {'right':>9s}")
    missed = False
    with ProcessPoolExecutor() as pool:
        for effect in EFFECTS:
            of = [list(pool.map(partial(searched, effect, every), seeds)) for every in (EVERY, 0)]
            builds = [fmean(one.builds for one in these) for these in of]
            boots = [fmean(one.boots for one in these) for these in of]
            right = [sum(one.right for one in these) for these in of]
            share = builds[0] / builds[1]
            missed |= right[0] < right[1] or (effect == EFFECTS[0] and share > MOST_BUILT)
            print(
                f"{effect:6.0%} {builds[0]:7.1f} of {builds[1]:5.1f} {share:6.2f}"
                f" {boots[0]:7.1f} vs {boots[1]:5.1f} {right[0]:4d}, {right[1]:3d}",
                flush=True,
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
