"""One search of one row's world, and many of them on all processors."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.worlds.dev import DEV_ROWS
from benchmarks.worlds.judging import Outcome, judged
from benchmarks.worlds.lab import COSTS, Lab
from benchmarks.worlds.row import Row
from benchmarks.worlds.rows import ROWS
from buildbot_bench.core.search import Answer, Evidence, SearchPolicy, plan

SEED = 20110615  # of the judged figures; `--seed` is added
_NOTHING = Evidence()
BY_NAME = {row.name: row for row in (*ROWS, *DEV_ROWS)}


def outcomes(
    pool: ProcessPoolExecutor, row: Row, replicates: int, offset: int
) -> Iterator[Outcome]:
    """So many searches of a row, each in a lab of its own."""
    seeds = range(SEED + offset, SEED + offset + replicates)
    return pool.map(partial(outcome, row.name), seeds, chunksize=max(replicates // 30, 1))


def outcome(name: str, seed: int) -> Outcome:
    """What one search of a row took, and what its answer is worth."""
    row = BY_NAME[name]
    lab = Lab(row.world, seed)
    policy = policy_of(row, lab)
    known = Evidence(measurements=lab.alarm() if row.alarm else ())
    answer, evidence, thought_s = searched(lab, policy, known)
    values = Counter(m.position for m in evidence.measurements)
    return judged(lab, answer, policy, values, float(np.median(thought_s)))


def policy_of(row: Row, lab: Lab) -> SearchPolicy:
    """What the search is told, with the weights of this range where there are some."""
    return replace(row.policy, weights=lab.range.weights)


def searched(
    lab: Lab, policy: SearchPolicy, evidence: Evidence = _NOTHING
) -> tuple[Answer, Evidence, list[float]]:
    """Do what `plan` says until it answers, and count all of it; seconds that each plan took."""
    thought_s = []
    while True:
        began_s = time.process_time()
        request = plan(lab.world.n, evidence, COSTS, policy)
        thought_s.append(time.process_time() - began_s)
        if isinstance(request, Answer):
            return request, evidence, thought_s
        measured = lab.measure(request.position, request.image)
        if measured is None:
            evidence = replace(evidence, untestable=evidence.untestable | {request.position})
        else:
            evidence = replace(evidence, measurements=(*evidence.measurements, measured))
