"""`bench-farm verify` and `doctor`: what contradicts itself, and what needs a person."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from buildbot_bench.core.condition import Condition, Disk
from buildbot_bench.core.errors import BenchError
from buildbot_bench.demo import on_disk
from buildbot_bench.demo.on_disk import master_since_s
from buildbot_bench.demo.place import FarmPlace
from buildbot_bench.history import MirrorHistory, mirror_path
from buildbot_bench.plugin.operations import boots, health, results, values
from buildbot_bench.plugin.operations.copies import snapshot
from buildbot_bench.plugin.operations.hangs import hangs, read_ports
from buildbot_bench.plugin.operations.violations import Moment, Violation, worked_until_s
from buildbot_bench.workflow.model import Workflow


def read_condition(place: FarmPlace) -> Condition:
    """How a farm is; one whose database does not answer is described as far as may be."""
    workflow = place.read_workflow()
    runs = master_since_s(place.directory, place.master) is not None
    condition = Condition(
        now_s=time.time(),
        master_runs=runs,
        buildbot=metadata.version("buildbot"),
        disks=tuple(_disks(place)),
        ports=read_ports(place.master),
        hangs=hangs(place.master),
        doubled_numbers=_doubled_numbers(place, workflow),
    )
    try:
        with snapshot(place.db) as conn:
            names = {*workflow.builders, *(one.worker for one in workflow.testbeds.values())}
            return replace(
                condition,
                master_runs=condition.master_runs or health.a_master_lives(conn, condition.now_s),
                skews=tuple(health.skews(conn)),
                workers=tuple(health.workers(conn, names)),
                last_boot_at_s=health.last_boot_at_s(conn),
                waiting=health.waiting(conn),
                messages=tuple(health.stuck_messages(conn)),
                held=tuple(health.held(conn)),
                standing=tuple(health.standing(conn, condition.now_s)),
                masters=tuple(health.masters(conn)),
                broker=health.a_broker_runs(conn),
            )
    except BenchError as problem:
        then = problem.hint or "see --db and BENCH_DB"
        return replace(condition, database_problem=problem.message, database_next=then)


def _doubled_numbers(place: FarmPlace, workflow: Workflow) -> tuple[str, ...]:
    """The odd r-numbers of the master's mirror; none where there is none yet."""
    found: list[str] = []
    for one in workflow.watches:
        path = mirror_path(place.master, one.key)
        mirror = MirrorHistory(path, one.url, branches=one.push.branches, name=one.name or None)
        with suppress(BenchError):
            found += [f"{one.name}: {line}" if one.name else line for line in mirror.oddities()]
    return tuple(found)


def _disks(place: FarmPlace) -> Iterator[Disk]:
    seen: set[int] = set()
    is_file = place.db.get_backend_name() == "sqlite"
    database = (Path(place.db.database or "").parent,) if is_file else ()
    for path in (place.master, place.master / "artefacts", *place.states, *database):
        if not path.exists() or path.stat().st_dev in seen:
            continue
        seen.add(path.stat().st_dev)
        usage = shutil.disk_usage(path)
        yield Disk(path=str(path), free=usage.free, total=usage.total)


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
    """Look at a farm; what is only on its way is none. `idle`: nothing may wait or run any more."""
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
        since_s = on_disk.master_since_s(place.directory, place.master)
        moment = Moment(
            now_s=time.time(),
            master_since_s=since_s,
            idle=idle,
            worked_until_s=worked_until_s(conn) if since_s is None else None,
        )
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
