"""`bench-farm doctor`: report what in a farm needs a person, from tables and disks."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.condition import Condition, Disk
from buildbot_bench.core.errors import BenchError
from buildbot_bench.demo.on_disk import master_since_s
from buildbot_bench.demo.place import FarmPlace
from buildbot_bench.history import MirrorHistory, mirror_path
from buildbot_bench.plugin.operations import health
from buildbot_bench.plugin.operations.database import snapshot
from buildbot_bench.plugin.operations.hangs import hangs
from buildbot_bench.plugin.operations.ports import read_ports
from buildbot_bench.workflow import Workflow


def read_condition(place: FarmPlace) -> Condition:
    """How a farm is; one whose database does not answer is described as far as may be.

    UsageError when the farm's bench.yml is not there, or cannot be understood.
    """
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
            return _of_tables(conn, condition, workflow)
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


def _of_tables(conn: sa.Connection, condition: Condition, workflow: Workflow) -> Condition:
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


def _disks(place: FarmPlace) -> Iterator[Disk]:
    """The file systems that the farm's directories lie on, each once."""
    seen: set[int] = set()
    for path in (place.master, place.master / "artefacts", *place.states, _of_database(place)):
        if path is None or not path.exists() or path.stat().st_dev in seen:
            continue
        seen.add(path.stat().st_dev)
        usage = shutil.disk_usage(path)
        yield Disk(path=str(path), free=usage.free, total=usage.total)


def _of_database(place: FarmPlace) -> Path | None:
    is_file = place.db.get_backend_name() == "sqlite"
    return Path(place.db.database or "").parent if is_file else None
