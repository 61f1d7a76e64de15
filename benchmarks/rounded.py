"""`python -m benchmarks rounded`: searches of --local where a coarse clock rounds what it reads.

Runs scatter by less than the clock's step, so that most readings of a revision are equal; where the
level lies between two readings differs from search to search. Half of the searches have nothing to
find, half a commit that makes the program slower by 2 to 6 %.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from benchmarks.progress import counted
from benchmarks.recorded.command import COMMITS, Replayed, mean_runs, replayed
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.lab.command.settings import WALL

SEARCHES, QUICK = 80, 16
WORLDS = ((0.015, 0.2), (0.015, 0.4), (0.04, 0.1), (0.04, 0.4))
"""The clock's step as a share of the level, and the standard deviation of runs in steps."""
PATIENCE = 400
_EFFECTS = (0.02, 0.06)
MOST_WRONG = 0.025  # of all: 2 of 80
_LENGTH_S = 0.06


def searched(step: float, sigma: float, number: int, *, seed: int, patience: int) -> Replayed:
    """Search as --local does where values are whole multiples of a step."""
    rng = random.Random(f"{step} {sigma} {number} {seed}")
    culprit = rng.randint(1, COMMITS) if number % 2 else None
    effect = rng.uniform(*_EFFECTS)
    level = 1 / step + rng.random()  # in steps

    def read(slower: float, _: RunTimes) -> float:
        return _LENGTH_S * step * max(round(level * slower + rng.gauss(0, sigma)), 1)

    return replayed(WALL, _clock(step), read, culprit=culprit, effect=effect, patience=patience)


def _clock(step: float) -> Iterator[tuple[float, RunTimes]]:
    now_s = 0.0
    while True:
        now_s += _LENGTH_S
        yield (
            now_s,
            RunTimes(wall_s=_LENGTH_S, user_s=_LENGTH_S, system_s=0.0, step=step * _LENGTH_S),
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Search in each world, and print what came of it; 1 if more are wrong than is wanted."""
    parser = argparse.ArgumentParser(prog="benchmarks rounded", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} searches of each")
    parser.add_argument("--replicates", type=int, metavar="N", help=f"searches ({SEARCHES})")
    parser.add_argument("--seed", type=int, default=0, help="of all draws: to develop with")
    parser.add_argument("--patience", type=int, default=PATIENCE, help="runs of a search at most")
    options = parser.parse_args(argv)
    count = options.replicates or (QUICK if options.quick else SEARCHES)
    wrong = 0
    print(" step  noise, steps  searches  wrong  ended   runs ± se, nothing there  with 2 to 6 %")
    with ProcessPoolExecutor() as pool:
        for step, sigma in WORLDS:
            one = partial(searched, step, sigma, seed=options.seed, patience=options.patience)
            found = list(counted(pool.map(one, range(count)), count, "search"))
            false, ended = sum(each.wrong for each in found), sum(each.ended for each in found)
            wrong += false
            print(
                f"{step:5.1%} {sigma:13.1f} {count:9d} {false:6d} {ended:6d}"
                f"   {mean_runs(found[::2]):>24s}  {mean_runs(found[1::2])}",
                flush=True,
            )
    most = round(MOST_WRONG * count * len(WORLDS))
    print(f"  wanted: wrong ≤ {most}: {wrong}")
    return 0 if wrong <= most else 1


if __name__ == "__main__":
    sys.exit(main())
