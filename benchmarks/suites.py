"""`python -m benchmarks suites`: compare all values of a suite with themselves by --value all.

Both sides are alike, so that each value called better or worse is wrong. A hundred values of a run
have noises of their own, drawn evenly in logarithms; runs go on by the command's own rule.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.progress import counted
from benchmarks.scale import seeds_of
from benchmarks.verdicts import of_share
from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.compare.schedule import (
    BootLimits,
    VariantPlan,
    more_for_all,
    order,
    verdicts_of,
)
from buildbot_bench.core.compare.verdict import Better, ComparisonTerms, SidesVerdict, Worse
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.limits import DEFAULT_IMAGES
from buildbot_bench.core.metric import Metric

SUITES, QUICK = 100, 20
SEED = 20261205
MOST_FALSE = 0.01  # of tables
VALUES = 100
RUNS = 5  # of each side at first, as --local does; where nothing is built up to eight times as many
_NOISES = (0.003, 0.08)  # of the values, standard deviations of ln(value)
_TERMS = ComparisonTerms(min_effect=0.02, confidence=95.0, values=VALUES)

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, kw_only=True)
class SuiteWorld:
    """How runs of a suite vary, beside the noise of each value.

    `common` is the share of the variance that all values of a run have in common, of which the
    next run keeps `kept` (an autocorrelation). `slow` is the share of runs in which all values are
    slower by `slower`. `df` makes tails heavy. `build` is how far builds of one code differ.
    """

    common: float = 0.0
    kept: float = 0.0
    slow: float = 0.0
    slower: float = 0.0
    df: float = math.inf
    build: float = 0.0


WORLDS = {
    "runs vary": SuiteWorld(),
    "runs vary, heavy tails": SuiteWorld(df=3.0),
    "values of a run go together": SuiteWorld(common=0.8),
    "spells of slow runs": SuiteWorld(common=0.8, kept=0.6),
    "runs have two speeds": SuiteWorld(slow=0.3, slower=0.12),
    "images vary by 1.6 %": SuiteWorld(build=0.016),
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """What one comparison of a suite with itself said."""

    worse: int
    better: int
    decided: int
    runs: int


class Suite:
    """Two alike sides of a suite, and what was run of them."""

    def __init__(self, world: SuiteWorld, rng: np.random.Generator) -> None:
        self._world, self._rng = world, rng
        self._noise = np.exp(rng.uniform(math.log(_NOISES[0]), math.log(_NOISES[1]), VALUES))
        self._luck: dict[tuple[int, int], Floats] = {}
        self._mood = rng.normal()
        self.runs: tuple[list[tuple[int, Floats]], list[tuple[int, Floats]]] = ([], [])

    def run(self, side: int, image: int) -> None:
        """Run all values of an image once."""
        world, rng = self._world, self._rng
        self._mood = world.kept * self._mood + math.sqrt(1 - world.kept**2) * rng.normal()
        own = rng.normal(size=VALUES) if math.isinf(world.df) else _heavy(rng, world.df)
        noise = math.sqrt(world.common) * self._mood + math.sqrt(1 - world.common) * own
        if (side, image) not in self._luck:
            self._luck[side, image] = rng.normal(0, world.build, VALUES)
        speed = math.log1p(world.slower) * (rng.random() < world.slow)
        self.runs[side].append((image, self._noise * noise + self._luck[side, image] + speed))

    def values(self) -> list[SeriesValues]:
        """Return the series of each value."""
        built = bool(self._world.build)
        return [
            SeriesValues(
                testbed="simulated",
                workload="suite",
                metric=Metric(name=f"value {n}", unit="ns", higher_is_better=False),
                values=tuple(
                    tuple(float(1e3 * np.exp(run[n])) for _, run in own) for own in self.runs
                ),
                booted=tuple(tuple(image for image, _ in own) for own in self.runs),
                kernels=(1, 2) if built else (-1, -1),
                single=("",) * 2 if built else ("nothing is built",) * 2,
                item=ItemUnderTest.COMMAND,
            )
            for n in range(VALUES)
        ]


def _heavy(rng: np.random.Generator, df: float) -> Floats:
    """Student's t, of variance 1."""
    return np.asarray(rng.standard_t(df, VALUES) / math.sqrt(df / (df - 2)))


def table(name: str, seed: int) -> Table:
    """Compare a suite with itself, until the command's rule asks for no more runs."""
    world = WORLDS[name]
    suite = Suite(world, np.random.default_rng([seed, list(WORLDS).index(name)]))
    limits = (
        BootLimits(boots=RUNS, images=DEFAULT_IMAGES)
        if world.build
        else BootLimits(boots=8 * RUNS, images=1)
    )
    plans: tuple[VariantPlan, ...] = (VariantPlan(boots={}),) * 2
    after: tuple[VariantPlan, ...] = (VariantPlan(boots={0: RUNS}),) * 2
    while after != plans:
        _run(suite, plans, after)
        plans = after
        verdicts, after = _looked(suite.values(), plans, limits)
    return Table(
        worse=sum(isinstance(one, Worse) for one in verdicts),
        better=sum(isinstance(one, Better) for one in verdicts),
        decided=sum(one.kind not in {"undecided", "within the luck of layout"} for one in verdicts),
        runs=len(suite.runs[0]),
    )


def _looked(
    values: Sequence[SeriesValues], plans: Sequence[VariantPlan], limits: BootLimits
) -> tuple[list[SidesVerdict], tuple[VariantPlan, ...]]:
    """The verdicts, and what is run next: as runs double for all, one value that needs more does.

    Of looks that are followed by others, the verdicts on the values after that one are left out.
    """
    verdicts = []
    for one in values:
        verdicts.append(verdicts_of(one, _TERMS, booted=(0, 1)))
        if len(verdicts) > 1:
            more = more_for_all(verdicts, plans, limits)
            if more != tuple(plans):
                break
    return [found[1] for found in verdicts], more


def _run(suite: Suite, known: Sequence[VariantPlan], wanted: Sequence[VariantPlan]) -> None:
    """What is wanted and not yet run, the sides in turn."""
    for image in {**wanted[0].boots, **wanted[1].boots}:
        times = max(
            after.boots.get(image, 0) - before.boots.get(image, 0)
            for before, after in zip(known, wanted, strict=True)
        )
        for side in order(2, times):
            suite.run(side, image)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare in each world and print what was called changed; 1 if that is surely too often."""
    seeds = seeds_of(argv, "suites", __doc__, usual=SUITES, quick=QUICK, first=SEED)
    print(f"{'world':28s} tables  called worse  changed (95 % interval)  decided  runs of each")
    missed = False
    with ProcessPoolExecutor() as pool:
        for name in WORLDS:
            found = list(counted(pool.map(partial(table, name), seeds), len(seeds), name))
            worse = sum(one.worse > 0 for one in found)
            changed = sum(one.worse + one.better > 0 for one in found)
            verdict = of_share(worse, len(found), MOST_FALSE)
            missed |= verdict == "MISSED"
            low, high = stats.binomtest(changed, len(found)).proportion_ci()
            print(
                f"{name:28s} {len(found):6d}  {worse:12d}  {changed:7d} ({low:.1%} to {high:.1%})"
                f"  {np.mean([one.decided for one in found]):10.0f}"
                f"  {np.mean([one.runs for one in found]):7.1f}"
                f"   worse ≤ {MOST_FALSE:.0%}: {verdict}",
                flush=True,
            )
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
