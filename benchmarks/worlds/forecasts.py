"""`python -m benchmarks forecasts`: compare forecasts with the cost of the searches.

Searches of several rows; half are forecast before they begin, half when they have had some boots.

A row by itself is no measure: a forecast does not know which row it is of. Ranges of four steps
(one search in ten here; at the rate of the archive's changes one in eighty ranges of 1600 commits
that have a step) mostly end above the 90 % figure, and claims of nothing below the median. That is
no error of the rehearsal: with the steps known, a search of four is rehearsed to 59 boots on
average and takes 55.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.progress import counted
from benchmarks.verdicts import Verdict, of_share
from benchmarks.worlds.lab import COSTS, Lab, World
from benchmarks.worlds.ranges import Range, Rng
from benchmarks.worlds.row import Row, told
from benchmarks.worlds.rows import ROWS
from benchmarks.worlds.runs import SEED, policy_of, searched
from buildbot_bench.core.search import Evidence, forecast

OUT = Path(__file__).parents[1] / "out"
REPLICATES, QUICK = 100, 20
UNDER_WAY = 6  # boots of those that are forecast when they have begun
# What is wanted: the median of took / forecast, the share below the 90 % figure, seconds.
NEAR, BELOW, MOST_S = 0.15, 0.9, 2.0


def any_size(rng: Rng, n: int) -> Range:
    """One step of a size between 2 and 20 %, small ones as often as large ones."""
    size = float(rng.choice([-1, 1])) * float(0.02 * 10 ** rng.uniform())
    return Range(steps={int(rng.integers(1, n + 1)): size})


UNCLAIMED = Row(
    name="n 512, 2 to 20 %, nothing claimed",
    world=World(n=512, commits=any_size, sigma_build=0.002),
    policy=told(build=0.002),
)
NAMES = (
    "n 1600, d 10, noise 0.5 %, min-effect 2 %",
    "n 256, d 5, noise 0.5 %, min-effect 2 %",
    "n 256, d 3, noise 0.5 %, min-effect 1 %",
    "n 256, d 5, noise 1 %, min-effect 1.5 %",
    "n 256, d 2, noise 1 %, min-effect 1.5 %",
    "n 1600, d 10, prior informed and right",
    "IFLIB, four steps",
    "noise as told: -2.5 %",
    "noise as told: nothing there, claimed -4 %",
)
MIXED = (*(row for row in ROWS if row.name in NAMES), UNCLAIMED)


@dataclass(frozen=True, kw_only=True)
class Told:
    """Boots and builds as forecast (median, 90 %) and as taken; processor seconds of a forecast."""

    row: str
    known: int
    boots: tuple[float, float]
    builds: tuple[float, float]
    took_boots: int
    took_builds: int
    took_s: float


def main(argv: Sequence[str] | None = None) -> int:
    """Print how near the forecasts were, in all and of each row."""
    parser = argparse.ArgumentParser(prog="benchmarks forecasts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few searches")
    parser.add_argument("--replicates", type=int, help=f"searches in all ({REPLICATES})")
    parser.add_argument("--seed", type=int, default=0, help="added to all seeds: to develop with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    options = parser.parse_args(argv)
    count = options.replicates or (QUICK if options.quick else REPLICATES)
    seeds = range(SEED + options.seed, SEED + options.seed + count)
    with ProcessPoolExecutor(options.jobs) as pool:
        done = list(counted(pool.map(told_and_taken, range(count), seeds), count, "forecasts"))
    for row in MIXED:
        if those := [one for one in done if one.row == row.name]:
            print(f"  {row.name:44s} {_text(those)}")
    print(f"  {'all':44s} {_text(done)}")
    for what, verdict in verdicts(done).items():
        print(f"  {what}: {verdict}")
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(one) for one in done], indent=1)
    (options.out / "forecasts.json").write_text(text + "\n", encoding="utf-8")
    return 0


def told_and_taken(number: int, seed: int) -> Told:
    """The forecast of the next search in turn, and what it took."""
    row = MIXED[number % len(MIXED)]
    lab = Lab(row.world, seed)
    policy = policy_of(row, lab)
    _, evidence, _ = searched(lab, policy)
    known = UNDER_WAY if number // len(MIXED) % 2 and lab.boots > UNDER_WAY else 0
    before = _first(evidence, known)
    began_s = time.process_time()
    expected = forecast(row.world.n, COSTS, policy, before)
    took_s = time.process_time() - began_s
    images = {(m.position, m.image) for m in before.measurements}
    return Told(
        row=row.name,
        known=known,
        boots=expected.iterations,
        builds=expected.images,
        took_boots=lab.boots - known,
        took_builds=len(lab.built - images),
        took_s=took_s,
    )


def verdicts(done: list[Told]) -> dict[str, Verdict]:
    """Of the forecasts in all."""
    ratio = abs(_ratio(done) - 1)
    above = sum(one.took_boots > one.boots[1] for one in done)
    slow = max(one.took_s for one in done)
    return {
        f"the median is within ±{NEAR:.0%}": _kept(is_met=ratio <= NEAR),
        f"{BELOW:.0%} end below the 90 % figure": of_share(above, len(done), 1 - BELOW),
        f"a forecast takes ≤ {MOST_S:g} s": _kept(is_met=slow <= MOST_S),
    }


def _kept(*, is_met: bool) -> Verdict:
    return Verdict.REACHED if is_met else Verdict.MISSED


def _first(evidence: Evidence, boots: int) -> Evidence:
    """The evidence when so many boots were done."""
    return replace(evidence, measurements=evidence.measurements[:boots], untestable=frozenset())


def _ratio(done: list[Told]) -> float:
    return float(np.median([one.took_boots / max(one.boots[0], 1.0) for one in done]))


def _text(done: list[Told]) -> str:
    below = np.mean([one.took_boots <= one.boots[1] for one in done])
    median, most = (np.mean([one.boots[i] for one in done]) for i in (0, 1))
    took = [one.took_boots for one in done]
    slow = [one.took_s for one in done]
    builds = np.median([one.took_builds / max(one.builds[0], 1.0) for one in done])
    return (
        f"took {_ratio(done):.2f} of the median ({median:.1f}, really {np.median(took):.1f}),"
        f" {below:.0%} below the 90 % figure ({most:.1f}), {builds:.2f} of the builds,"
        f" {np.median(slow):.1f} s"
        f" (most {max(slow):.1f}) of {len(done)}"
    )


if __name__ == "__main__":
    sys.exit(main())
