"""Invariants of boots: of probes and their iterations, jobs of the lab, processes of the farm."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.plugin.db.columns import OPEN_PROBES, OPEN_PROFILES, ImageState
from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, PROBE, PROFILE
from buildbot_bench.plugin.operations.health import AT_ONCE, Moment, Violation, not_run, words

# Of the boots that differ, a reader looks at the first.
_MOST_NAMED = 5
# One that ended: its ordinal, and a value or None for each unit.
Boot = tuple[int, frozenset[tuple[str, float | None]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabJob:
    """A job's directory on a lab worker: `where` it lies, and the boots that the lab reported."""

    name: str
    where: str
    is_running: bool
    boots: tuple[Boot, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobOwner:
    """The row that asked for a job, as in `probe 7`, and what the tables have of its boots."""

    row: str
    is_open: bool
    cancelled: bool = False
    ended_at_s: float | None
    boots: tuple[Boot, ...] = ()
    measures: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmProcess:
    """A process of the farm's; `owner` names what it belongs to, None when nothing does."""

    pid: int
    command: str
    owner: str | None


def requests(conn: sa.Connection) -> dict[int, float | None]:
    """When Buildbot's requests for what is issued ended, by their ids; None while one goes on."""
    probes = sa.select(PROBE.c.brid).where(PROBE.c.state == ProbeState.ISSUED)
    images = sa.select(IMAGE.c.brid).where(IMAGE.c.state == ImageState.BUILDING)
    table = sa.table(
        "buildrequests", sa.column("id"), sa.column("complete"), sa.column("complete_at")
    )
    query = sa.select(table).where(sa.or_(table.c.id.in_(probes), table.c.id.in_(images)))
    return {
        row.id: float(row.complete_at or 0) if row.complete else None for row in conn.execute(query)
    }


def check_probes(
    conn: sa.Connection, ends: Mapping[int, float | None], moment: Moment, checked: Counter[str]
) -> Iterator[Violation]:
    """Each ends once, and something runs it until then; its boots are all there, once.

    `ends` are those of Buildbot's requests, as `requests` gives them.
    """
    boots = (
        sa.select(
            ITERATION.c.probe_id,
            sa.func.count(ITERATION.c.ordinal.distinct()).label("recorded"),
            sa.func.min(ITERATION.c.ordinal).label("first"),
            sa.func.max(ITERATION.c.ordinal).label("last"),
            sa.func.sum(sa.case((ITERATION.c.is_primary, 1), else_=0)).label("primaries"),
        )
        .group_by(ITERATION.c.probe_id)
        .subquery()
    )
    names = ("id", "iterations", "failure", "failure_kind", "brid", "issued_at", "ended_at")
    query = (
        sa.select(
            *words(PROBE.c.state),
            *(PROBE.c[name] for name in names),
            *(sa.func.coalesce(boots.c[name], 0).label(name) for name in ("recorded", "primaries")),
            *(boots.c.first, boots.c.last),
        )
        .outerjoin(boots, boots.c.probe_id == PROBE.c.id)
        .order_by(PROBE.c.id)
    )
    for probe in conn.execute(query.execution_options(yield_per=AT_ONCE)):
        checked.update({"probes": 1, "boots": probe.recorded})
        yield from _ends(probe, ends, moment)
        yield from _recorded_once(probe)


def _ends(
    probe: sa.Row[Any], ends: Mapping[int, float | None], moment: Moment
) -> Iterator[Violation]:
    row, is_open = f"probe {probe.id}", probe.state in OPEN_PROBES
    if not is_open and probe.ended_at is None:
        yield _of_end(row, "has ended, but not when", "set ended_at to when its last boot ended")
    if is_open and probe.ended_at is not None:
        yield _of_end(row, "waits, but has a time of its end", "set ended_at to NULL")
    is_issued = probe.state == ProbeState.ISSUED
    if is_issued and (why := not_run(probe.brid, ends, probe.issued_at, moment)):
        yield _of_end(
            row, f"is issued, but {why}", "restart the master, which looks at each open probe"
        )
    elif is_open and moment.idle:
        yield _of_end(row, "waits, though the farm has nothing to do", "see the Lab page for why")


def _recorded_once(probe: sa.Row[Any]) -> Iterator[Violation]:
    row, number, asked = f"probe {probe.id}", probe.recorded, probe.iterations
    look = "compare with events.jsonl of the lab's job"
    if number and (probe.first, probe.last) != (0, number - 1):
        numbered = f"has {number} boots, numbered from {probe.first} to {probe.last}"
        yield _of_boots(row, numbered, look)
    if number > asked:
        yield _of_boots(row, f"has {number} boots of {asked} asked for", look)
    is_done = probe.state == ProbeState.DONE
    if is_done and probe.failure is None and probe.failure_kind is None and number < asked:
        yield _of_boots(row, f"is done with {number} boots of {asked} asked for", look)
    if probe.primaries != number:
        yield _of_boots(
            row,
            f"has {number} boots, but {probe.primaries} values in a primary unit",
            "each ordinal of bench_iteration needs one row with is_primary",
        )


def check_tokens(conn: sa.Connection) -> Iterator[Violation]:
    """No two rows have one job of the lab's; imported ones have none."""
    rows = sa.union_all(
        sa.select(PROBE.c.token, sa.literal("probe").label("kind"), PROBE.c.id),
        sa.select(PROFILE.c.token, sa.literal("capture").label("kind"), PROFILE.c.id),
    ).subquery()
    several = (
        sa.select(rows.c.token)
        .where(rows.c.token != "")
        .group_by(rows.c.token)
        .having(sa.func.count() > 1)
    )
    query = sa.select(rows).where(rows.c.token.in_(several)).order_by(rows.c.kind, rows.c.id)
    seen: dict[str, str] = {}
    for token, kind, number in conn.execute(query):
        row = f"{kind} {number}"
        if token in seen:
            yield _of_boots(
                row,
                f"has the lab's job {token}, which {seen[token]} has as well",
                "one of the two is a copy: delete the one with fewer boots",
            )
        seen.setdefault(token, row)


def owners(conn: sa.Connection, tokens: Collection[str]) -> dict[str, JobOwner]:
    """Who asked for jobs of these names, and what the tables have of them."""
    found: dict[str, JobOwner] = {}
    names = sorted(tokens)
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        for row in conn.execute(_states_of(PROFILE, some)):
            found[row.token] = JobOwner(
                row=f"capture {row.id}",
                is_open=row.state in OPEN_PROFILES,
                ended_at_s=row.ended_at,
                measures=False,
            )
        boots = _boots(conn, some)
        for row in conn.execute(_states_of(PROBE, some)):
            found[row.token] = JobOwner(
                row=f"probe {row.id}",
                is_open=row.state in OPEN_PROBES,
                cancelled=row.state == ProbeState.CANCELLED,
                ended_at_s=row.ended_at,
                boots=boots.get(row.id, ()),
            )
    return found


def _states_of(table: sa.Table, tokens: list[str]) -> sa.Select[Any]:
    columns = (table.c.id, table.c.token, table.c.ended_at, *words(table.c.state))
    return sa.select(*columns).where(table.c.token.in_(tokens))


def _boots(conn: sa.Connection, tokens: list[str]) -> dict[int, tuple[Boot, ...]]:
    values: dict[int, dict[int, dict[str, float | None]]] = defaultdict(lambda: defaultdict(dict))
    columns = (ITERATION.c.probe_id, ITERATION.c.ordinal, ITERATION.c.unit, ITERATION.c.value)
    query = sa.select(*columns).join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
    for row in conn.execute(query.where(PROBE.c.token.in_(tokens)).order_by(ITERATION.c.id)):
        values[row.probe_id][row.ordinal][row.unit] = row.value
    return {
        probe: tuple((ordinal, frozenset(units.items())) for ordinal, units in boots.items())
        for probe, boots in values.items()
    }


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
    told, kept = Counter(job.boots), Counter(owner.boots)
    ordinals = Counter(ordinal for ordinal, _ in job.boots)
    if twice := {ordinal for ordinal, times in ordinals.items() if times > 1}:
        yield _of_boots(
            owner.row,
            f"the lab reported its boots {_some(twice)} twice",
            f"read {job.where}/{job.name}/events.jsonl and runner.log",
        )
    if invented := {ordinal for ordinal, _ in kept - told}:
        yield _of_boots(
            owner.row,
            f"its boots {_some(invented)} are not those that the lab reported",
            f"compare bench_iteration with {job.where}/{job.name}/events.jsonl",
        )
    # What ends after a probe was cancelled is wanted no more; of an open one it is on its way.
    if owner.is_open or owner.cancelled:
        return
    if lost := {ordinal for ordinal, _ in told - kept}:
        yield _of_boots(
            owner.row,
            f"its boots {_some(lost)} ended and are not recorded",
            f"keep {job.where}/{job.name}: nothing else has them",
        )


def check_process(process: FarmProcess) -> Iterator[Violation]:
    """It belongs to the master, to a worker or to a job that runs."""
    if process.owner is None:
        yield _of_owner(
            f"process {process.pid}",
            f"runs for the farm ({process.command}), but nothing owns it",
            f"look at it, then end it: kill {process.pid}",
        )


def _some(numbers: set[int]) -> str:
    named = ", ".join(str(number) for number in sorted(numbers)[:_MOST_NAMED])
    return f"{named}, …" if len(numbers) > _MOST_NAMED else named


def _of_boots(row: str, problem: str, then: str) -> Violation:
    return Violation(check="boots", row=row, problem=problem, next=then)


def _of_end(row: str, problem: str, then: str) -> Violation:
    return Violation(check="ends", row=row, problem=problem, next=then)


def _of_owner(row: str, problem: str, then: str) -> Violation:
    return Violation(check="owners", row=row, problem=problem, next=then)
