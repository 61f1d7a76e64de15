"""The cost of an incident: one culprit on three workloads, searched once and proved on all.

`python -m benchmarks incident`. Boots are all from the request to the mail: the search, the proof
of its own step, and the confirmations. The second table is a search whose range an exact testbed
has counted: with the culprit among the commits that moved its figure, and elsewhere. The third is
the reliability of a confirmation where images differ by more than the search assumes.
"""

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from benchmarks.progress import counted, keep
from benchmarks.search_lab import Lab, World
from benchmarks.search_runs import SEED, search
from benchmarks.verdicts import of_mean
from buildbot_bench.core.incident.confirmation import Confirmation, Standing, confirmation
from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy
from buildbot_bench.core.touched import exact_weights

Result = TypeVar("Result")

OTHERS = 2  # workloads besides the one that is searched
MOST_TIMES = 1.9  # the boots of one search, for three workloads
WRONG = 0.01  # of the confirmations, where build noise is told as a third of what it is
MOVED = 40  # commits of the range that move the exact figure


@dataclass
class Remembering(Lab):
    """A lab that keeps what it measured."""

    measured: list[Measurement] = field(default_factory=list)

    def measure(self, position: int, image: int) -> Measurement:
        """One iteration, as the search wants it."""
        self.measured.append(super().measure(position, image))
        return self.measured[-1]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A range of `n` commits, a step of `effect`, and what the search is told."""

    name: str
    n: int
    effect: float
    sigma_build: float = 0.0
    min_effect: float = 0.02

    @property
    def policy(self) -> SearchPolicy:
        """The noise as it is, and the step as the alarm saw it."""
        return SearchPolicy(
            claimed=self.effect,
            sigma_run=0.005,
            sigma_build=self.sigma_build,
            min_effect=self.min_effect,
            max_measurements=600,
        )

    def lab(self, culprit: int, seed: int) -> Remembering:
        """One workload on which that commit is the culprit."""
        world = World(
            n=self.n, steps=partial(_planted, culprit, self.effect), sigma_build=self.sigma_build
        )
        return Remembering(world, seed)


CASES = (
    Case(name="n 1600, d 10", n=1600, effect=-0.05),
    Case(name="n 256, d 5", n=256, effect=-0.025),
    Case(name="n 256, d 3", n=256, effect=-0.015, min_effect=0.01),
    Case(name="n 256, d 5, build noise .2 %", n=256, effect=-0.025, sigma_build=0.002),
)


@dataclass(frozen=True, kw_only=True)
class Told:
    """A step that an alarm claimed, on a series whose images differ by more than is told."""

    claimed: float
    effect: float
    sigma_build: float
    told: float

    @property
    def name(self) -> str:
        """As the table has it."""
        there = f"{self.effect:.1%}" if self.effect else "nothing"
        noise = f"build noise {self.sigma_build:.2%}, told {self.told:.2%}"
        return f"{there} there, {self.claimed:.1%} claimed; {noise}"


TOLD = tuple(
    Told(claimed=claimed, effect=effect, sigma_build=noise, told=told)
    for noise, told in ((0.002, 0.002), (0.006, 0.002), (0.01, 0.0033))
    for claimed in (-0.04, -0.025)
    for effect in (claimed, 0.0)
)


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Boots of the search with its own proof, of all confirmations, and whether all is right."""

    searched: int
    confirmed: int
    right: bool


def _planted(culprit: int, effect: float, _rng: np.random.Generator, _n: int) -> dict[int, float]:
    return {culprit: effect}


def incident(case: Case, seed: int) -> Incident:
    """One culprit on three workloads."""
    culprit = int(np.random.default_rng(seed).integers(1, case.n + 1))
    lab = case.lab(culprit, 3 * seed)
    answer = search(lab, case.policy, [])
    if [step.new for step in answer.steps] != [culprit]:
        return Incident(searched=lab.iterations, confirmed=0, right=False)
    own = prove(case, lab, culprit)
    others = [case.lab(culprit, 3 * seed + number) for number in range(1, OTHERS + 1)]
    standings = [own, *(prove(case, other, culprit) for other in others)]
    return Incident(
        searched=lab.iterations,
        confirmed=sum(other.iterations for other in others),
        right=standings == [Standing.CONFIRMED] * len(standings),
    )


def prove(case: Case, lab: Remembering, culprit: int) -> Standing:
    """Boot both sides of a step as often as core.incident asks."""
    while True:
        evidence = Evidence(measurements=tuple(lab.measured))
        found = confirmation(culprit - 1, culprit, evidence, case.policy)
        if isinstance(found, Confirmation):
            return found.standing
        for one in found:
            for _ in range(one.iterations):
                lab.measure(one.position, one.image)


def confirmed(case: Told, seed: int) -> tuple[Standing, int]:
    """What two sides of a step come to on another series, and the boots of them."""
    world = World(
        n=1, steps=partial(_planted, 1, case.effect), sigma_build=case.sigma_build, sigma_run=0.005
    )
    lab, known = (
        Remembering(world, seed),
        Case(name="", n=1, effect=case.claimed, sigma_build=case.told),
    )
    return prove(known, lab, 1), lab.iterations


def weighed(case: Case, counts: str, seed: int) -> int:
    """The boots of one search where the exact figure says nothing, `right` or `wrong`."""
    rng = np.random.default_rng(seed)
    culprit = int(rng.integers(1, case.n + 1))
    moves = {int(at) for at in rng.choice(np.arange(1, case.n + 1), MOVED, replace=False)}
    moves = moves | {culprit} if counts == "right" else moves - {culprit}
    figure, levels = 1000.0, {0: 1000.0}
    for at in range(1, case.n + 1):
        figure *= 1 + (rng.normal(0, 0.005) if at in moves else 0.0)
        levels[at] = figure
    weights = exact_weights(case.n, levels, relevant=case.min_effect)
    policy = case.policy if counts == "nothing" else replace(case.policy, weights=weights)
    lab = case.lab(culprit, seed)
    search(lab, policy, [])
    return lab.iterations


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables; the exit status is 0, for targets are told and not enforced."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.incident", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten replicates")
    parser.add_argument("--replicates", type=int, metavar="N", help="ranges for each case")
    options = parser.parse_args(argv)
    replicates = options.replicates or (10 if options.quick else 100)
    seeds = range(SEED + 500_000, SEED + 500_000 + replicates)
    figures: dict[str, tuple[float, float]] = {}
    with ProcessPoolExecutor() as pool:
        print(f"three workloads, one culprit; {replicates} replicates, wanted <= {MOST_TIMES} x")
        print(f"{'case':32s} {'search':>14s} {'all three':>14s} {'times':>6s}  right")
        for case in CASES:
            done = _all(pool, partial(incident, case), seeds, case.name)
            searched = np.array([one.searched for one in done], dtype=float)
            total = searched + [one.confirmed for one in done]
            times = total.mean() / searched.mean()
            right = sum(one.right for one in done)
            figures[case.name] = (float(times), _error(total) / float(searched.mean()))
            verdict = of_mean(times, _error(total) / searched.mean(), MOST_TIMES)
            print(f"{case.name:32s} {_told(searched)} {_told(total)} {times:6.2f}  ", end="")
            print(f"{right}/{replicates} {verdict}", flush=True)
        print(f"\nn 1600, d 10; an exact figure that moves at {MOVED} commits")
        for counts in ("nothing", "right", "wrong"):
            boots = np.array(_all(pool, partial(weighed, CASES[0], counts), seeds, counts))
            print(f"{counts:32s} {_told(boots)}", flush=True)
        many = range(SEED + 600_000, SEED + 600_000 + 10 * replicates)
        print(f"\nconfirmations; {len(many)} replicates, wanted <= {WRONG:.0%} wrong")
        for told in TOLD:
            print(
                _standings(told, _all(pool, partial(confirmed, told), many, told.name)), flush=True
            )
    keep("incident", figures)
    return 0


def _standings(case: Told, found: Sequence[tuple[Standing, int]]) -> str:
    """One line: how often it is wrong and right, and the boots."""
    there, not_there = Standing.CONFIRMED, Standing.DENIED
    right, wrong = (there, not_there) if case.effect else (not_there, there)
    shares = [sum(one is standing for one, _ in found) / len(found) for standing in (wrong, right)]
    boots = np.array([boots for _, boots in found], dtype=float)
    return f"{case.name:64s} wrong {shares[0]:6.2%} right {shares[1]:6.1%} boots {_told(boots)}"


def _all(
    pool: ProcessPoolExecutor, work: Callable[[int], Result], seeds: Sequence[int], what: str
) -> list[Result]:
    return list(counted(pool.map(work, seeds), len(seeds), what))


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


def _told(values: np.ndarray) -> str:
    return f"{values.mean():7.1f} ± {_error(values):4.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
