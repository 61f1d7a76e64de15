"""`bench-farm verify`: report contradictions between the database and the directories.

A farm that runs changes while it is read: only contradictions that two looks show are reported.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from buildbot_bench.demo import on_disk
from buildbot_bench.demo.place import FarmPlace
from buildbot_bench.plugin.operations import boots, results, values
from buildbot_bench.plugin.operations.database import snapshot
from buildbot_bench.plugin.operations.violations import Moment, Violation, worked_until_s
from buildbot_bench.workflow import Workflow

# A row follows what it tells of within a transaction; slow machines need a second for it.
_BETWEEN_LOOKS_S = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What a look at a farm found, and how much of each kind it looked at."""

    violations: tuple[Violation, ...]
    checked: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "whole": not self.violations,
            "violations": [asdict(violation) for violation in self.violations],
            "checked": self.checked,
        }

    def as_text(self) -> str:
        """For people: a line for each violation, one with what to do, and one for all."""
        lines = [
            line
            for one in self.violations
            for line in (f"{one.row}: {one.problem}", f"    next: {one.next}")
        ]
        counts = ", ".join(f"{number} {name}" for name, number in self.checked.items())
        number = len(self.violations)
        told = "1 violation" if number == 1 else f"{number or 'no'} violations"
        lines.append(f"{told}; looked at {counts}")
        return "\n".join(lines)


def verify(
    place: FarmPlace, *, idle: bool, wait: Callable[[float], None] = time.sleep
) -> Verification:
    """Look at a farm; what is only on its way is none. `idle`: nothing may wait or run any more.

    UsageError when a directory, the tables or the workflow are not there; InfraError when the
    database does not answer, or a file cannot be read.
    """
    workflow = place.read_workflow()
    first = _look(place, workflow, idle=idle)
    if not first.violations:
        return first
    wait(_BETWEEN_LOOKS_S)
    second = _look(place, workflow, idle=idle)
    seen = {(one.check, one.row) for one in first.violations}
    lasting = tuple(one for one in second.violations if (one.check, one.row) in seen)
    return Verification(violations=lasting, checked=second.checked)


def _look(place: FarmPlace, workflow: Workflow, *, idle: bool) -> Verification:
    checked: Counter[str] = Counter()
    violations = tuple(_violations(place, workflow, checked, idle=idle))
    return Verification(violations=violations, checked=dict(checked))


def _violations(
    place: FarmPlace, workflow: Workflow, checked: Counter[str], *, idle: bool
) -> Iterator[Violation]:
    with snapshot(place.db) as conn:
        moment = _moment(place, conn, idle=idle)
        yield from values.check_values(conn)
        yield from values.check_digests(conn)
        yield from values.check_sequences(conn)
        ends = boots.requests(conn)
        yield from boots.check_probes(conn, ends, moment, checked)
        yield from boots.check_tokens(conn)
        yield from results.check_images(conn, ends, moment, checked)
        yield from results.check_searches(conn, moment, checked)
        if workflow.mail is not None:
            yield from results.check_untold(conn, moment)
        yield from results.check_messages(conn, moment, checked)
        yield from values.check_references(conn)
        artefacts = results.artefacts(conn)
        kernels = values.unvouched_kernels(conn)
        # The tables were read first: what a job told since is not missed in them.
        jobs = list(on_disk.lab_jobs(place.states))
        owners = boots.owners(conn, [job.name for job in jobs])
    checked["lab jobs"] = len(jobs)
    for job in jobs:
        yield from boots.check_job(job, owners.get(job.name), moment)
    is_here = workflow.artefacts.place is None
    files = on_disk.artefact_files(place.master) if is_here else None
    checked["artefacts"] = len(artefacts)
    yield from results.check_artefacts(artefacts, files, moment)
    if is_here:
        stored = [one.digest for one in artefacts]
        yield from on_disk.check_kernels(place.master, stored, kernels)
    running = on_disk.processes(place.directory, place.states)
    checked["processes"] = len(running)
    for process in running:
        yield from boots.check_process(process)


def _moment(place: FarmPlace, conn: sa.Connection, *, idle: bool) -> Moment:
    since_s = on_disk.master_since_s(place.directory, place.master)
    return Moment(
        now_s=time.time(),
        master_since_s=since_s,
        idle=idle,
        worked_until_s=worked_until_s(conn) if since_s is None else None,
    )
