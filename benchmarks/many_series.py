"""`python -m benchmarks many-series`: a thousand series of one testbed share the judge's budget.

Calm worlds count the commits that raise a false alarm in any series, with the boots that the judge
asks for. A series' commit is judged in full where its first boot is suspicious, as the judge
itself finds (`strongest`), with the history of first boots; the others are no change. In the worlds
with a change ten series fall by 5 %, once among a thousand, once alone with the same boots. Values
of one boot are independent, or have a factor in common.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.judge import LAYOUT, QUIET
from benchmarks.judge_farm import BOOT_S, COMMIT_S, LOOK_BACK, Farm, World
from benchmarks.judge_years import HISTORY, LEARNT_FROM
from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.images import Row
from buildbot_bench.core.judge.model import (
    Alarm,
    JudgePolicy,
    Nothing,
    Settled,
    Suspicion,
    Verdict,
    settled_by,
)
from buildbot_bench.core.judge.together import judge_together
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import Iteration, Sample

SEED = 20261206
SERIES, COMMITS, CHANGED = 1000, 1000, 10
QUICK_COMMITS = 50
STEPS, QUICK_STEPS = 10, 2
EFFECT = -0.05
PATIENCE = 6  # commits after the change
COMMON = 0.8  # of the variance of boots, and of images: where values of a boot go together
NOISY = World(sigma_run=0.02)
CALM = (
    ("run 0.5 %, independent", QUIET, 0.0, 1),
    ("run 0.5 %, values of a boot go together", QUIET, COMMON, 1),
    ("run 0.5 %, build 1 %, independent", LAYOUT, 0.0, 20),
    ("run 0.5 %, build 1 %, values of a boot go together", LAYOUT, COMMON, 20),
)  # and which part of the commits is simulated
CHANGES = (
    ("run 0.5 %, independent", QUIET, 0.0),
    ("run 0.5 %, build 1 %, independent", LAYOUT, 0.0),
    ("run 0.5 %, build 1 %, values of a boot go together", LAYOUT, COMMON),
    ("run 2 %, independent", NOISY, 0.0),
)
_PLAIN = Nothing(comparison=None, reason="not suspicious")

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(kw_only=True)
class Lab:
    """Boots of many series, each of which is one value of a boot; `extra` ones the judge wanted.

    `common` is the share of the variance that all values of a boot, or of an image, have in common.
    The first `changed` series fall by EFFECT at `changed_at`.
    """

    world: World
    common: float
    series: int
    commits: int
    seed: int
    changed: int = 0
    changed_at: int = 0
    extra: dict[tuple[int, int, int], list[Iteration]] = field(default_factory=dict)
    luck: dict[tuple[int, int, int], float] = field(default_factory=dict)
    settled: dict[int, list[Settled]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Draw the first boots of all commits: each series has its own draws."""
        shared = np.random.default_rng([self.seed, 0])
        self._own = [np.random.default_rng([self.seed, 1 + n]) for n in range(self.series)]
        self.noise = _learnt(self.world, self.seed)
        sigma = self.world.sigma_build, self.world.sigma_run
        draws = [
            (shared.normal(size=self.commits), [r.normal(size=self.commits) for r in self._own])
            for _ in sigma
        ]
        parts = [
            scale * (math.sqrt(self.common) * mood + math.sqrt(1 - self.common) * np.array(own))
            for scale, (mood, own) in zip(sigma, draws, strict=True)
        ]
        self.images, self.firsts = parts[0], parts[0] + parts[1]
        fallen = np.log1p(EFFECT) * (np.arange(self.commits) >= self.changed_at)
        self.images[: self.changed] += fallen
        self.firsts[: self.changed] += fallen

    def suspicious(self, first: int) -> Sequence[frozenset[int]]:
        """The series that are suspicious at each commit from `first` on, by their first boots."""
        weight = 1 / (self.noise.sigma_build**2 + self.noise.sigma_run**2)
        sums = np.arange(self.commits + 1.0)
        ends = np.arange(first + 1, self.commits + 1)
        found: list[list[int]] = [[] for _ in ends]
        for number, logs in enumerate(self.firsts):
            levels = Row(
                edges=np.arange(self.commits + 1),
                weight=weight * sums,
                moment=weight * np.concatenate(([0.0], np.cumsum(logs))),
                square=weight**2 * sums,
                noise=self.noise,
                min_effect=JudgePolicy().min_effect,
            )
            begin, place = levels.places(0, ends)
            begins, lasts = (np.broadcast_to(x[:, None], place.shape) for x in (begin, ends))
            evidence = levels.split(begins, place, lasts).log_evidence.max(axis=1)
            for at in np.flatnonzero(evidence >= math.log(constants.SUSPICIOUS)):
                found[at].append(number)
        return [frozenset(its) for its in found]

    def verdict(self, number: int, position: int, policy: JudgePolicy) -> Verdict:
        """The verdict on a commit of a series, with the boots that the judge asks for."""
        while True:
            known = list(self._samples(number, position))
            new = next(one for one in known if (one.position, one.image) == (position, 0))
            history = [one for one in known if one is not new]
            verdict = judge(history, new, self.noise, policy, self.settled.get(number, ()))
            if not isinstance(verdict, Suspicion):
                return verdict
            for wanted in verdict.remeasure:
                for _ in range(wanted.iterations):
                    self._boot(number, wanted.position, wanted.image, now_s=COMMIT_S * position)

    def settle(self, number: int, position: int, verdict: Verdict) -> None:
        """Keep what the farm's tables would."""
        if one := settled_by(verdict, position, JudgePolicy().min_effect):
            self.settled.setdefault(number, []).append(one)

    def _boot(self, number: int, position: int, image: int, *, now_s: float) -> None:
        key = (number, position, image)
        boots = self.extra.setdefault(key, [])
        if image and key not in self.luck:
            fallen = number < self.changed and position >= self.changed_at
            luck = self._drawn(key, 0, self.world.sigma_build)
            self.luck[key] = luck + math.log1p(EFFECT) * fallen
        level = self.luck[key] if image else float(self.images[number, position])
        log = level + self._drawn(key, 1 + len(boots), self.world.sigma_run)
        at_s = now_s + BOOT_S * (1 + len(boots))
        boots.append(Iteration(value=1e6 * math.exp(log), at_s=at_s))

    def _drawn(self, key: tuple[int, int, int], boot: int, sigma: float) -> float:
        number, *of_boot = key
        mood = np.random.default_rng([self.seed, 0, *of_boot, boot]).normal() if self.common else 0
        own = self._own[number].normal()
        return float(sigma * (math.sqrt(self.common) * mood + math.sqrt(1 - self.common) * own))

    def _samples(self, number: int, position: int) -> Iterator[Sample]:
        for place in range(max(position - LOOK_BACK, 0), position + 1):
            value = 1e6 * math.exp(self.firsts[number, place])
            boots = [Iteration(value=value, at_s=COMMIT_S * place)]
            image = 0
            while boots := [*boots, *self.extra.get((number, place, image), ())]:
                yield Sample(
                    label=f"n{place}", position=place, image=image, iterations=tuple(boots)
                )
                boots, image = [], image + 1


def _learnt(world: World, seed: int) -> Noise:
    """The noise as a longer quiet history of one series taught it."""
    teacher = Farm(world=world, rng=np.random.default_rng([seed, 1]))
    teacher.warm_up(LEARNT_FROM)
    return learn(teacher.samples(0, LEARNT_FROM))


def judged(lab: Lab, position: int, suspicious: frozenset[int]) -> frozenset[int]:
    """Judge a commit in all series of a lab; those that raise an alarm."""
    policy = JudgePolicy(series=lab.series)

    def one(number: int, together: int) -> Verdict:
        if number not in suspicious:
            return _PLAIN
        return lab.verdict(number, position, replace(policy, together=together))

    verdicts = judge_together(range(lab.series), one)
    for number, verdict in verdicts.items():
        lab.settle(number, position, verdict)
    return frozenset(n for n, verdict in verdicts.items() if isinstance(verdict, Alarm))


def calm(world: World, common: float, commits: int, seed: int) -> tuple[int, int]:
    """How many commits of a calm world raise an alarm, and how many alarms these are."""
    lab = Lab(world=world, common=common, series=SERIES, commits=HISTORY + commits, seed=seed)
    alarms = [judged(lab, HISTORY + n, its) for n, its in enumerate(lab.suspicious(HISTORY))]
    return sum(map(bool, alarms)), sum(map(len, alarms))


def delays(world: World, common: float, series: int, seed: int) -> list[int]:
    """After how many commits each of the series that fall is found, PATIENCE where it is not."""
    lab = Lab(
        world=world,
        common=common,
        series=series,
        commits=HISTORY + PATIENCE,
        seed=seed,
        changed=CHANGED,
        changed_at=HISTORY,
    )
    found: dict[int, int] = {}
    for delay, suspicious in enumerate(lab.suspicious(HISTORY)):
        for number in judged(lab, HISTORY + delay, suspicious):
            found.setdefault(number, delay)
        if all(number in found for number in range(CHANGED)):
            break
    return [found.get(number, PATIENCE) for number in range(CHANGED)]


def _calm_rows(commits: int, seed: int, pool: ProcessPoolExecutor) -> bool:
    """Print the calm worlds; whether one of them keeps no budget."""
    print(f"{SERIES:,} calm series; the budget is one commit in 1,000 with a false alarm")
    asked = [
        pool.submit(_timed_calm, number, max(commits // part, 1), seed)
        for number, (_, _, _, part) in enumerate(CALM)
    ]
    missed = False
    for (name, _, _, part), one in zip(CALM, asked, strict=True):
        (wrong, alarms), cpu_s = one.result()
        total = max(commits // part, 1)
        low, high = stats.binomtest(wrong, total).proportion_ci()
        surely = low > 1 / 1000
        missed |= surely
        print(
            f"  {name:52s} {total:5,} commits, {wrong} with an alarm (of {alarms} series; 95 %"
            f" interval {1000 * low:.2g} to {1000 * high:.2g} in 1,000), {cpu_s:.0f} s:"
            f" {'MISSED' if surely else 'kept'}",
            flush=True,
        )
    return missed


def _change_rows(replicates: int, seed: int, pool: ProcessPoolExecutor) -> bool:
    """Print the worlds with a change; whether one finds a series too late."""
    print(f"{CHANGED} series fall by {-EFFECT:.0%}: found at the commit, by the next, later")
    missed = False
    for number, (name, _, _) in enumerate(CHANGES):
        seeds = range(seed, seed + replicates)
        found = {
            series: list(pool.map(partial(_timed_delays, number, series), seeds))
            for series in (CHANGED, SERIES)
        }
        alone, among = (np.array([its for its, _ in found[series]]) for series in (CHANGED, SERIES))
        late = int(np.sum(among > alone + 1))
        missed |= late > 0
        cpu_s = sum(cpu_s for its in found.values() for _, cpu_s in its)
        said = "; ".join(
            f"{who} {np.mean(its == 0):.1%}, {np.mean(its <= 1):.1%}, {np.mean(its > 1):.1%}"
            for who, its in ((f"{CHANGED} alone", alone), (f"among {SERIES:,}", among))
        )
        print(
            f"  {name:52s} {said}; more than one commit later than alone: {late} of {among.size},"
            f" {cpu_s:.0f} s",
            flush=True,
        )
    return missed


def _timed_calm(number: int, commits: int, seed: int) -> tuple[tuple[int, int], float]:
    began_s = time.process_time()
    _, world, common, _ = CALM[number]
    return calm(world, common, commits, seed), time.process_time() - began_s


def _timed_delays(number: int, series: int, seed: int) -> tuple[list[int], float]:
    began_s = time.process_time()
    _, world, common = CHANGES[number]
    return delays(world, common, series, seed), time.process_time() - began_s


def main(argv: Sequence[str] | None = None) -> int:
    """Print both; 1 if the budget is not kept or a change is found too late."""
    parser = argparse.ArgumentParser(prog="benchmarks many-series", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_COMMITS} commits")
    parser.add_argument("--replicates", type=int, metavar="N", help=f"of each change ({STEPS})")
    parser.add_argument("--seed", type=int, default=0, help="added to all seeds")
    options = parser.parse_args(argv)
    commits, replicates = (QUICK_COMMITS, QUICK_STEPS) if options.quick else (COMMITS, STEPS)
    replicates = options.replicates or replicates
    seed = SEED + options.seed
    with ProcessPoolExecutor() as pool:
        results = (_calm_rows(commits, seed, pool), _change_rows(replicates, seed, pool))
    return int(any(results))


if __name__ == "__main__":
    sys.exit(main())
