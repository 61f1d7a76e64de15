"""The health of a farm in its tables, and the moment at which its invariants are looked at."""

import json
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.condition import (
    HealthFinding,
    of_boots,
    of_broker,
    of_clock,
    of_message,
    of_one_master,
    of_quarantine,
    of_standing_work,
    of_worker,
)
from buildbot_bench.core.legible import long_line
from buildbot_bench.plugin.db.columns import OPEN_PROBES, UNSENT, ReportState
from buildbot_bench.plugin.db.leases import BROKER, leases, standing_still
from buildbot_bench.plugin.db.schema import ITERATION, LEASE, NOTICE, PROBE, QUARANTINE, REPORT

_GIVEN_UP = (ReportState.REFUSED, ReportState.GIVEN_UP)
_MOST_MESSAGES = 20
_MOST_PROBES = 50
# A master gives back within two minutes what stands still (masters/gone.py).
_STILL_S = 180.0
# A master tells of itself every minute (Buildbot's heartbeat); one that is silent for longer died.
_SILENT_MASTER_S = 600.0
_MASTERS = sa.table(
    "masters", *(sa.column(name) for name in ("id", "name", "active", "last_active"))
)
_WORKERS = sa.table("workers", sa.column("id"), sa.column("name"), sa.column("info"))
_CONNECTED = sa.table("connected_workers", sa.column("workerid"))


def a_master_lives(conn: sa.Connection, now_s: float) -> bool:
    """Whether a master, on any machine, reported of late."""
    newest = sa.select(sa.func.max(_MASTERS.c.last_active)).where(_MASTERS.c.active == 1)
    return now_s - (conn.execute(newest).scalar() or 0) < _SILENT_MASTER_S


def findings(
    conn: sa.Connection, worker_names: Collection[str], now_s: float, *, master_runs: bool
) -> Iterator[HealthFinding]:
    """What in the tables wants a person."""
    yield from _masters(conn, master_runs=master_runs)
    yield from _clocks(conn)
    if master_runs:
        yield from _workers(conn, worker_names)
    last_s = last_boot_at_s(conn)
    yield from of_boots(None if last_s is None else now_s - last_s, _waiting(conn))
    if master_runs:
        # Without one all of it stands, and the next one gives it back when it starts.
        for what, since_s in standing_still(conn, now_s - _STILL_S):
            yield from of_standing_work(what, now_s - since_s)
    yield from _messages(conn, now_s)
    held = sa.select(QUARANTINE).where(QUARANTINE.c.ended_at.is_(None))
    for row in conn.execute(held.order_by(QUARANTINE.c.id)):
        yield from of_quarantine(row.testbed, now_s - row.begun_at, long_line(row.reason))


def _masters(conn: sa.Connection, *, master_runs: bool) -> Iterator[HealthFinding]:
    """Several that live, and that went without a word; of one that is alone nothing is known."""
    there = {row.name for row in leases(conn)}
    names = {row.id: row.name for row in conn.execute(sa.select(_MASTERS.c.id, _MASTERS.c.name))}
    for row in conn.execute(sa.select(LEASE).where(LEASE.c.name != BROKER).order_by(LEASE.c.id)):
        name, trouble = names.get(row.masterid, row.name), long_line(row.trouble)
        yield from of_one_master(long_line(name), alive=row.name in there, trouble=trouble)
    if master_runs:
        yield from of_broker(runs=BROKER in there or not there)


def _workers(conn: sa.Connection, names: Collection[str]) -> Iterator[HealthFinding]:
    """The workers of these names, whether Buildbot knows them or not."""
    there = sa.select(_CONNECTED.c.workerid).where(_CONNECTED.c.workerid == _WORKERS.c.id)
    query = sa.select(_WORKERS, there.exists().label("connected"))
    known = {row.name: row for row in conn.execute(query.where(_WORKERS.c.name.in_(names)))}
    for name in sorted(names):
        row = known.get(name)
        yield from of_worker(
            name,
            connected=row is not None and bool(row.connected),
            version=_version(row.info) if row else "",
            buildbot=metadata.version("buildbot"),
        )


def _version(info: str | None) -> str:
    try:
        said = json.loads(info or "{}").get("version")
    except (ValueError, AttributeError):
        return ""
    return said[:20] if isinstance(said, str) else ""


def last_boot_at_s(conn: sa.Connection) -> float | None:
    """When the last boot ended, by the clock of its lab; imported ones, without a job, are past."""
    booted = sa.select(ITERATION.c.at_s).join(PROBE).where(PROBE.c.token != "")
    return conn.execute(booted.order_by(ITERATION.c.id.desc()).limit(1)).scalar()


def _waiting(conn: sa.Connection) -> int:
    """How many probes are asked for and have not ended."""
    query = sa.select(sa.func.count()).where(PROBE.c.state.in_(OPEN_PROBES))
    return int(conn.execute(query).scalar_one())


def _clocks(conn: sa.Connection) -> Iterator[HealthFinding]:
    """By how much the database's clock is off, and that of each testbed's lab, as far as one sees.

    A boot ends after its probe was asked for and before that ended: what lies outside is a skew.
    It may end before the probe was issued: that is done again when a build was lost.
    """
    if conn.dialect.name == "postgresql":
        theirs = conn.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one()
        yield from of_clock("the database", abs(float(theirs) - time.time()))
    newest = (
        sa.select(PROBE.c.id, PROBE.c.testbed, PROBE.c.created_at, PROBE.c.ended_at)
        .where(PROBE.c.state == ProbeState.DONE, PROBE.c.issued_at.is_not(None))
        .order_by(PROBE.c.id.desc())
        .limit(_MOST_PROBES)
        .subquery()
    )
    query = sa.select(newest, ITERATION.c.at_s).join(ITERATION, ITERATION.c.probe_id == newest.c.id)
    worst: dict[str, float] = {}
    for row in conn.execute(query):
        outside_s = max(row.created_at - row.at_s, row.at_s - row.ended_at, 0.0)
        worst[row.testbed] = max(worst.get(row.testbed, 0.0), outside_s)
    for testbed, seconds in sorted(worst.items()):
        yield from of_clock(f"the lab of {testbed}", seconds)


def _messages(conn: sa.Connection, now_s: float) -> Iterator[HealthFinding]:
    """The oldest mails and notices that are not sent, and the newest that never will be."""
    for table, kind in ((REPORT, "mail"), (NOTICE, "notice")):
        for states, order in ((UNSENT, table.c.id), (_GIVEN_UP, table.c.id.desc())):
            columns = (table.c.id, table.c.created_at, table.c.last_error)
            query = sa.select(*columns).where(table.c.state.in_(states))
            for row in conn.execute(query.order_by(order).limit(_MOST_MESSAGES)):
                yield from of_message(
                    f"{kind} {row.id}",
                    now_s - row.created_at,
                    long_line(row.last_error or ""),
                    given_up=states == _GIVEN_UP,
                )


# The broker looks every 30 s (BENCH_RECONCILE_S) at what ended; a slow machine has twenty such
# looks. A shorter time raises false alarms, a longer one only tells later.
GRACE_S = 600.0
# So many rows are held in memory at a time.
AT_ONCE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """What does not hold: the `row` that contradicts, how it does, and the `next` thing to do."""

    check: str
    row: str
    problem: str
    next: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When the farm was looked at, in seconds since the epoch. `idle`: nothing may wait or run.

    `master_since_s` is since when a master runs, None when none does or it is not known.
    `worked_until_s` is when a master that runs no more was last seen to live.
    """

    now_s: float
    master_since_s: float | None = None
    idle: bool = False
    worked_until_s: float | None = None

    def is_overdue(self, since_s: float | None, grace_s: float = GRACE_S) -> bool:
        """Whether a master had the time to see to what came about then; always of an idle farm."""
        if self.idle:
            return True
        if self.master_since_s is None:
            return False
        return self.now_s - max(since_s or 0.0, self.master_since_s) > grace_s

    def was_missed(self, since_s: float, grace_s: float = GRACE_S) -> bool:
        """Whether a master, the one that runs or one before it, had the time to see to it."""
        worked_s = (self.worked_until_s or 0.0) - since_s
        return self.is_overdue(since_s, grace_s) or worked_s > grace_s


def worked_until_s(conn: sa.Connection) -> float | None:
    """When a master was last seen to live: Buildbot's tell of themselves every minute."""
    masters = sa.table("masters", sa.column("last_active"))
    return conn.execute(sa.select(sa.func.max(masters.c.last_active))).scalar()


def words(*columns: sa.Column[Any]) -> list[sa.ColumnElement[Any]]:
    """Return the columns as plain text, so that unknown words of a state are read, too."""
    return [sa.type_coerce(column, sa.String).label(column.name) for column in columns]


def not_run(
    brid: int | None,
    requests: Mapping[int, float | None],
    since_s: float | None,
    moment: Moment,
) -> str:
    """Why nothing works on an issued row any more; empty when something may.

    `requests` are the ends of Buildbot's requests by their ids, None while one goes on.
    """
    if brid is None or brid not in requests:
        asked = "it names no build request" if brid is None else f"build request {brid} is unknown"
        return asked if moment.is_overdue(since_s) else ""
    ended_at_s = requests[brid]
    if ended_at_s is not None and moment.is_overdue(ended_at_s):
        return f"its build request {brid} has ended"
    return ""
