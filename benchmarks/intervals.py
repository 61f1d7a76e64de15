"""`python -m benchmarks intervals`: how often the 95 % interval of a step's size holds the truth.

Beside the step nothing else changes, or many commits change the level by little: it creeps, one way
or to and fro.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import log1p
from statistics import fmean

from benchmarks.progress import counted, keep
from benchmarks.scale import seeds_of
from benchmarks.verdicts import Verdict, of_share
from benchmarks.worlds.lab import Lab, World
from benchmarks.worlds.ranges import Draw, Range, Rng
from benchmarks.worlds.row import told
from benchmarks.worlds.runs import SEED, searched

SEARCHES, QUICK = 60, 12
LEAST = 0.93
_STEP, _N, _BOOTS = -0.05, 256, 80
_CREEPS = {
    "no creep": (0, 0.0, False),
    "40 x -.04 %": (40, -0.0004, False),
    "24 x +.08 %": (24, 0.0008, False),
    "50 x ±.12 %": (50, 0.0012, True),
    "30 x -.1 %": (30, -0.001, False),
}


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Whether an interval holds the truth, and half of its width as a fraction."""

    holds: bool
    half: float


def creeping(count: int, each: float, *, both_ways: bool) -> Draw:
    """One step, and so many commits that change the level by `each`."""

    def draw(rng: Rng, n: int) -> Range:
        commits = 1 + rng.choice(n, count, replace=False)
        signs = rng.choice([-1, 1], count) if both_ways else [1] * count
        steps = {int(at): each * int(sign) for at, sign in zip(commits, signs, strict=True)}
        return Range(steps=steps | {int(rng.integers(n // 8, n - n // 8)): _STEP})

    return draw


def intervals(name: str, seed: int) -> list[Interval]:
    """Those of the steps that one search states."""
    count, each, both_ways = _CREEPS[name]
    world = World(n=_N, commits=creeping(count, each, both_ways=both_ways))
    lab = Lab(world, seed)
    answer, _, _ = searched(lab, replace(told(_STEP), max_measurements=_BOOTS))
    return [
        Interval(
            holds=step.low <= lab.effect(step.old, step.new) <= step.high,
            half=(log1p(step.high) - log1p(step.low)) / 2,
        )
        for step in answer.steps
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print each world's share of intervals that hold the truth; 1 if one misses what is wanted."""
    seeds = seeds_of(argv, "intervals", __doc__, usual=SEARCHES, quick=QUICK, first=SEED)
    worst = Verdict.REACHED
    shares: dict[str, tuple[int, int]] = {}
    print(f"{'beside the step':16s} intervals  hold the truth  half width")
    with ProcessPoolExecutor() as pool:
        for name in _CREEPS:
            done = counted(pool.map(partial(intervals, name), seeds), len(seeds), name)
            found = [one for here in done for one in here]
            missed = sum(not one.holds for one in found)
            shares[name] = (len(found) - missed, len(found))
            told_of = of_share(missed, len(found), 1 - LEAST)
            worst = told_of if told_of is Verdict.MISSED else worst
            print(
                f"{name:16s} {len(found):9d}  {1 - missed / len(found):13.1%}"
                f"  {fmean(one.half for one in found):9.2%}   ≥ {LEAST:.0%}: {told_of}",
                flush=True,
            )
    keep("intervals", shares)
    return 1 if worst is Verdict.MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
