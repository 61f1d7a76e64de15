"""The health of a farm in its tables: masters, workers, boots, clocks, messages."""

import json
import time
from collections.abc import Collection, Iterator

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.condition import (
    Held,
    MasterCondition,
    Skew,
    StandingStill,
    StuckMessage,
    WorkerCondition,
)
from buildbot_bench.core.legible import long_line
from buildbot_bench.plugin.db.leases import BROKER, leases, standing_still
from buildbot_bench.plugin.db.schema import ITERATION, LEASE, NOTICE, PROBE, QUARANTINE, REPORT
from buildbot_bench.plugin.db.states import OPEN_PROBES, UNSENT, ReportState

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


def masters(conn: sa.Connection) -> Iterator[MasterCondition]:
    """Those of several that live, and those that went without a word; none where one is alone."""
    there = {row.name: row for row in leases(conn)}
    names = {row.id: row.name for row in conn.execute(sa.select(_MASTERS.c.id, _MASTERS.c.name))}
    for row in conn.execute(sa.select(LEASE).where(LEASE.c.name != BROKER).order_by(LEASE.c.id)):
        yield MasterCondition(
            name=long_line(names.get(row.masterid, row.name)),
            alive=row.name in there,
            trouble=long_line(row.trouble),
        )


def a_broker_runs(conn: sa.Connection) -> bool:
    """Whether one of several masters runs the broker; of one that is alone nothing is known."""
    there = {row.name for row in leases(conn)}
    return BROKER in there or not there


def workers(conn: sa.Connection, names: Collection[str]) -> Iterator[WorkerCondition]:
    """The workers of these names, whether Buildbot knows them or not."""
    there = sa.select(_CONNECTED.c.workerid).where(_CONNECTED.c.workerid == _WORKERS.c.id)
    query = sa.select(_WORKERS, there.exists().label("connected"))
    known = {row.name: row for row in conn.execute(query.where(_WORKERS.c.name.in_(names)))}
    for name in sorted(names):
        row = known.get(name)
        if row is None:
            yield WorkerCondition(name=name, connected=False)
        else:
            yield WorkerCondition(
                name=name, connected=bool(row.connected), version=_version(row.info)
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


def waiting(conn: sa.Connection) -> int:
    """How many probes are asked for and have not ended."""
    query = sa.select(sa.func.count()).where(PROBE.c.state.in_(OPEN_PROBES))
    return int(conn.execute(query).scalar_one())


def skews(conn: sa.Connection) -> Iterator[Skew]:
    """By how much the database's clock is off, and that of each testbed's lab, as far as one sees.

    A boot ends after its probe was asked for and before that ended: what lies outside is a skew.
    It may end before the probe was issued: that is done again when a build was lost.
    """
    if conn.dialect.name == "postgresql":
        theirs = conn.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one()
        yield Skew(whose="the database", seconds=abs(float(theirs) - time.time()))
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
        yield Skew(whose=f"the lab of {testbed}", seconds=seconds)


def stuck_messages(conn: sa.Connection) -> Iterator[StuckMessage]:
    """The oldest mails and notices that are not sent, and the newest that never will be."""
    for table, kind in ((REPORT, "mail"), (NOTICE, "notice")):
        for states, order in ((UNSENT, table.c.id), (_GIVEN_UP, table.c.id.desc())):
            columns = (table.c.id, table.c.created_at, table.c.last_error)
            query = sa.select(*columns).where(table.c.state.in_(states))
            for row in conn.execute(query.order_by(order).limit(_MOST_MESSAGES)):
                yield StuckMessage(
                    row=f"{kind} {row.id}",
                    since_s=row.created_at,
                    given_up=states == _GIVEN_UP,
                    error=long_line(row.last_error or ""),
                )


def standing(conn: sa.Connection, now_s: float) -> list[StandingStill]:
    """What was begun, has not ended, and stands still for longer than a master lets it."""
    return standing_still(conn, now_s - _STILL_S)


def held(conn: sa.Connection) -> Iterator[Held]:
    """The testbeds in quarantine."""
    query = sa.select(QUARANTINE).where(QUARANTINE.c.ended_at.is_(None))
    for row in conn.execute(query.order_by(QUARANTINE.c.id)):
        yield Held(testbed=row.testbed, since_s=row.begun_at, reason=long_line(row.reason))
