"""Invariants of boots, probes, jobs of the lab and processes of the farm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from buildbot_bench.core.operations.records import (
    BootFacts,
    BuildRequest,
    FarmProcess,
    JobOwner,
    LabJob,
    Moment,
    ProbeFacts,
)
from buildbot_bench.core.operations.violations import Violation, not_run

# Of the boots that differ, a reader looks at the first.
_MOST_NAMED = 5


def check_probe(
    probe: ProbeFacts, requests: Mapping[int, BuildRequest], moment: Moment
) -> Iterator[Violation]:
    """Its end is reported once, and something runs it until then; its boots are all there, once.

    `requests` are Buildbot's, by their ids.
    """
    row = f"probe {probe.id}"
    if not probe.is_open and probe.ended_at_s is None:
        yield _of_end(row, "has ended, but not when", "set ended_at to when its last boot ended")
    if probe.is_open and probe.ended_at_s is not None:
        yield _of_end(row, "waits, but has a time of its end", "set ended_at to NULL")
    if probe.is_issued and (why := not_run(probe.brid, requests, probe.issued_at_s, moment)):
        yield _of_end(
            row, f"is issued, but {why}", "restart the master, which looks at each open probe"
        )
    elif probe.is_open and moment.idle:
        yield _of_end(row, "waits, though the farm has nothing to do", "see the Lab page for why")
    yield from _recorded_once(row, probe)


def _recorded_once(row: str, probe: ProbeFacts) -> Iterator[Violation]:
    look = "compare with events.jsonl of the lab's job"
    if probe.recorded and (probe.first, probe.last) != (0, probe.recorded - 1):
        yield _of_boots(
            row,
            f"has {probe.recorded} boots, numbered from {probe.first} to {probe.last}",
            look,
        )
    if probe.recorded > probe.asked:
        yield _of_boots(row, f"has {probe.recorded} boots of {probe.asked} asked for", look)
    if probe.kept and probe.recorded < probe.asked:
        yield _of_boots(
            row, f"is done with {probe.recorded} boots of {probe.asked} asked for", look
        )
    if probe.primaries != probe.recorded:
        yield _of_boots(
            row,
            f"has {probe.recorded} boots, but {probe.primaries} values in a primary unit",
            "each ordinal of bench_iteration needs one row with is_primary",
        )


def check_tokens(owners: Iterable[tuple[str, str]]) -> Iterator[Violation]:
    """No two rows have one job of the lab's: the pairs are of tokens and rows."""
    seen: dict[str, str] = {}
    for token, row in owners:
        if not token:  # imported: the lab knows no such job
            continue
        if token in seen:
            yield _of_boots(
                row,
                f"has the lab's job {token}, which {seen[token]} has as well",
                "one of the two is a copy: delete the one with fewer boots",
            )
        seen.setdefault(token, row)


def check_job(job: LabJob, owner: JobOwner | None, moment: Moment) -> Iterator[Violation]:
    """A row asked for it, it ends with that row, and each of its boots is in the tables once."""
    place = f"job {job.name} in {job.where}"
    if owner is None:
        what = "runs" if job.is_running else "lies there"
        end = f"bench-lab cancel --job {job.name}, then " if job.is_running else ""
        yield _of_owner(place, f"{what}, but no probe and no capture owns it", f"{end}delete it")
        return
    if job.is_running and not owner.is_open and moment.is_overdue(owner.ended_at_s):
        yield _of_owner(
            place, f"runs, but {owner.row} has ended", f"bench-lab cancel --job {job.name}"
        )
    if owner.measures:
        yield from _same_boots(job, owner)


def _same_boots(job: LabJob, owner: JobOwner) -> Iterator[Violation]:
    told = Counter(_key(boot) for boot in job.boots)
    kept = Counter(_key(boot) for boot in owner.boots)
    twice = sorted({boot.ordinal for boot in job.boots if told[_key(boot)] > 1})
    ordinals = Counter(boot.ordinal for boot in job.boots)
    if twice or max(ordinals.values(), default=1) > 1:
        numbers = twice or sorted(n for n, times in ordinals.items() if times > 1)
        yield _of_boots(
            owner.row,
            f"the lab reported its boots {_some(numbers)} twice",
            f"read {job.where}/{job.name}/events.jsonl and runner.log",
        )
    if invented := sorted({ordinal for ordinal, _ in kept - told}):
        yield _of_boots(
            owner.row,
            f"its boots {_some(invented)} are not those that the lab reported",
            f"compare bench_iteration with {job.where}/{job.name}/events.jsonl",
        )
    # What ends after a probe was cancelled is wanted no more; of an open one it is on its way.
    if owner.is_open or owner.cancelled:
        return
    if lost := sorted({ordinal for ordinal, _ in told - kept}):
        yield _of_boots(
            owner.row,
            f"its boots {_some(lost)} ended and are not recorded",
            f"keep {job.where}/{job.name}: nothing else has them",
        )


def _key(boot: BootFacts) -> tuple[int, frozenset[tuple[str, float | None]]]:
    return boot.ordinal, frozenset(boot.values.items())


def check_process(process: FarmProcess) -> Iterator[Violation]:
    """It belongs to the master, to a worker or to a job that runs."""
    if process.owner is None:
        yield _of_owner(
            f"process {process.pid}",
            f"runs for the farm ({process.command}), but nothing owns it",
            f"look at it, then end it: kill {process.pid}",
        )


def _some(numbers: list[int]) -> str:
    named = ", ".join(str(number) for number in numbers[:_MOST_NAMED])
    return f"{named}, …" if len(numbers) > _MOST_NAMED else named


def _of_boots(row: str, problem: str, then: str) -> Violation:
    return Violation(check="boots", row=row, problem=problem, next=then)


def _of_end(row: str, problem: str, then: str) -> Violation:
    return Violation(check="ends", row=row, problem=problem, next=then)


def _of_owner(row: str, problem: str, then: str) -> Violation:
    return Violation(check="owners", row=row, problem=problem, next=then)
