"""One search of one range by one way, and many of them on all processors."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.search_bounds import genie
from benchmarks.search_cases import CASES, Case
from benchmarks.search_grid import GRID
from benchmarks.search_lab import COSTS, Lab, World, single
from benchmarks.search_learner import learner
from benchmarks.search_peers import PEERS
from benchmarks.search_wall import hours
from buildbot_bench.core.search import Answer, Costs, Evidence, SearchPolicy, Step, plan

SEED = 20170110  # r311849 was committed on that day
OURS, LEARNER, GENIE = "ours", "learner", "genie"
ALL_CASES = {case.name: case for case in (*CASES, *GRID)}


@dataclass(frozen=True, kw_only=True)
class Said:
    """A step of an answer: how sure, whether it is there, whether its interval holds its size.

    `covered` is None for a step that is not there.
    """

    probability: float
    right: bool
    covered: bool | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one search cost, whether its answer is right, and how long a plan took (median)."""

    iterations: int
    images: int
    right: bool
    said: tuple[Said, ...] = ()
    plan_s: float | None = None


def runs(
    pool: ProcessPoolExecutor, case: Case, way: str, replicates: int, offset: int = 0
) -> Iterator[Run]:
    """So many runs of a way, each of another range of the case; `offset` is added to the seeds."""
    seeds = range(SEED + offset, SEED + offset + replicates)
    return pool.map(partial(run, case.name, way), seeds, chunksize=max(replicates // 20, 1))


def run(case_name: str, way: str, seed: int) -> Run:
    """One range of a case, searched by a way: ours, one that knows more, or one of the peers'."""
    case = ALL_CASES[case_name]
    if way == OURS:
        return _ours(case, Lab(case.world, seed))
    if way == GENIE:
        count, right = genie(case.world.n, case.d or 0.0, np.random.default_rng(seed))
        return Run(iterations=count, images=0, right=right)
    if way == LEARNER:
        rng = np.random.default_rng(seed)
        count, right = learner(case.world.n, case.d or 0.0, rng, case.world.known)
        return Run(iterations=count, images=0, right=right)
    lab = Lab(case.world, seed)
    right = PEERS[way](lab) == lab.expected()
    return Run(iterations=lab.iterations, images=len(lab.images), right=right)


def _ours(case: Case, lab: Lab) -> Run:
    thinking_s: list[float] = []
    answer = search(lab, case.policy, thinking_s)
    pairs, expected = {(step.old, step.new) for step in answer.steps}, lab.expected()
    return Run(
        iterations=lab.iterations,
        images=len(lab.images),
        right=pairs == expected and not (answer.unresolved and not pairs),
        said=tuple(_said(step, lab, expected) for step in answer.steps),
        plan_s=float(np.median(thinking_s)),
    )


def search(lab: Lab, policy: SearchPolicy, thinking_s: list[float]) -> Answer:
    """Do what `plan` says until it answers; what is known before does not count as measured."""
    evidence = Evidence(measurements=lab.known())
    while True:
        began_s = time.perf_counter()
        request = plan(lab.world.n, evidence, COSTS, policy)
        thinking_s.append(time.perf_counter() - began_s)
        if isinstance(request, Answer):
            return request
        measurements, untestable = evidence.measurements, evidence.untestable
        if lab.testable(request.position):
            measurements = (*measurements, lab.measure(request.position, request.image))
        else:
            untestable |= {request.position}
        evidence = Evidence(measurements=measurements, untestable=untestable)


def _said(step: Step, lab: Lab, expected: set[tuple[int, int]]) -> Said:
    right = (step.old, step.new) in expected
    inside = [effect for commit, effect in lab.steps.items() if step.old < commit <= step.new]
    truth = float(np.prod([1 + effect for effect in inside])) - 1
    covered = step.low <= truth <= step.high if right else None
    return Said(probability=step.probability, right=right, covered=covered)


def walls(
    pool: ProcessPoolExecutor, builders: int, kept_every: int, replicates: int
) -> list[tuple[float, bool]]:
    """Hours, and whether the answer was right, for 1600 commits and a step of 2.5 %."""
    one: Callable[[int], tuple[float, bool]] = partial(_wall, builders, kept_every)
    return list(pool.map(one, range(SEED, SEED + replicates)))


def _wall(builders: int, kept_every: int, seed: int) -> tuple[float, bool]:
    policy = SearchPolicy(sigma_run=0.005, sigma_build=0.0, claimed=-0.025)
    costs = Costs(build_s=1200, boot_s=180, run_s=120, builders=builders)
    lab = Lab(World(n=1600, steps=single(-0.025)), seed)
    return hours(lab, costs, policy, kept_every)
