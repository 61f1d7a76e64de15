"""`bench-farm verify` and `doctor`: what contradicts itself, and what needs a person."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from buildbot_bench.core.condition import (
    HealthFinding,
    Severity,
    of_database,
    of_disk,
    of_doubled_number,
    of_hangs,
    of_master,
    of_port,
)
from buildbot_bench.core.errors import BenchError
from buildbot_bench.demo import on_disk
from buildbot_bench.demo.on_disk import FarmPlace, master_since_s
from buildbot_bench.history import MirrorHistory, mirror_path
from buildbot_bench.plugin.operations import boots, health, results, values
from buildbot_bench.plugin.operations.copies import snapshot
from buildbot_bench.plugin.operations.hangs import hangs, read_ports
from buildbot_bench.plugin.operations.health import Moment, Violation, worked_until_s
from buildbot_bench.workflow.model import Workflow


def find_troubles(place: FarmPlace) -> tuple[HealthFinding, ...]:
    """What an operator must look at, errors first; without a database what else can be seen."""
    workflow, now_s = place.read_workflow(), time.time()
    runs = master_since_s(place.directory, place.master) is not None
    names = {*workflow.builders, *(one.worker for one in workflow.testbeds.values())}
    found: list[HealthFinding] = []
    try:
        with snapshot(place.db) as conn:
            runs = runs or health.a_master_lives(conn, now_s)
            found += health.findings(conn, names, now_s, master_runs=runs)
    except BenchError as problem:
        found += of_database(problem.message, problem.hint or "see --db and BENCH_DB")
    found += [*of_master(runs=runs), *of_hangs(hangs(place.master), now_s), *_disks(place)]
    found += [one for port in read_ports(place.master) for one in of_port(port)]
    found += _doubled_numbers(place, workflow)
    return tuple(sorted(found, key=lambda one: one.severity is not Severity.ERROR))


def _doubled_numbers(place: FarmPlace, workflow: Workflow) -> Iterator[HealthFinding]:
    """The odd r-numbers of the master's mirror; none where there is none yet."""
    for one in workflow.watches:
        path = mirror_path(place.master, one.key)
        mirror = MirrorHistory(path, one.url, branches=one.push.branches, name=one.name or None)
        with suppress(BenchError):
            for line in mirror.oddities():
                yield from of_doubled_number(f"{one.name}: {line}" if one.name else line)


def _disks(place: FarmPlace) -> Iterator[HealthFinding]:
    seen: set[int] = set()
    is_file = place.db.get_backend_name() == "sqlite"
    database = (Path(place.db.database or "").parent,) if is_file else ()
    for path in (place.master, place.master / "artefacts", *place.states, *database):
        if not path.exists() or path.stat().st_dev in seen:
            continue
        seen.add(path.stat().st_dev)
        usage = shutil.disk_usage(path)
        yield from of_disk(str(path), free=usage.free, total=usage.total)


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
