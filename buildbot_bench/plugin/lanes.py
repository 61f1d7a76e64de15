"""Which workloads are measured on which testbeds; it measures nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from buildbot_bench.workflow import BenchJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """One workload on one testbed: what is measured side by side with nothing else.

    Two machines of one kind are two testbeds: their levels differ, so no history mixes them. A
    workload that a label is to measure is at home on one of the `pool`; a search of it may run on
    any of them, and measures all that it compares there. `runs_on` is what bench.yml says.
    `iterations` is None for `auto`: as many as the noise that is known there asks for. `gates` are
    the testbeds that measure the workload before it is measured here; see core.gate.
    """

    testbed: str
    workload: str
    iterations: int | None
    runs_on: str = ""
    pool: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()


def lanes(jobs: tuple[BenchJob, ...]) -> tuple[Lane, ...]:
    """Every (testbed, workload) that the workflow's jobs measure.

    The workloads of a job are dealt to the testbeds of a pool in turn.
    """
    alone = {job.name: _lanes(job) for job in jobs}
    return tuple(
        replace(lane, gates=_gates(lane, (alone[name] for name in job.needs if name in alone)))
        for job in jobs
        for lane in alone[job.name]
    )


def _gates(lane: Lane, needed: Iterable[tuple[Lane, ...]]) -> tuple[str, ...]:
    found = (gate.testbed for gates in needed for gate in gates if gate.workload == lane.workload)
    return tuple(dict.fromkeys(found))


def _lanes(job: BenchJob) -> tuple[Lane, ...]:
    return tuple(
        Lane(
            testbed=pool[number % len(pool)],
            workload=workload,
            iterations=None if job.iterations == "auto" else job.iterations,
            runs_on=word,
            pool=pool,
        )
        for word, pool in zip(job.runs_on, job.pools, strict=True)
        for number, workload in enumerate(job.workloads)
    )
