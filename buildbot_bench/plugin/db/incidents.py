"""Queries on the series of incidents."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.core.incident import Standing
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.incident_rows import IncidentSeriesRow, NewIncidentSeries
from buildbot_bench.plugin.db.schema import JUDGEMENT, SEARCH
from buildbot_bench.plugin.db.sql import ensure, fetch_all, values_of
from buildbot_bench.plugin.db.states import SearchKind, SearchReason


def join_incident(
    conn: sa.Connection, joining: NewIncidentSeries, *, now: float
) -> IncidentSeriesRow:
    """A series of the incident of a search, waiting; one that joined before stays as it is."""
    values = values_of(joining)
    key = {name: values.pop(name) for name in ("search_id", "testbed", "workload")}
    values |= {"standing": Standing.WAITING, "reason": "", "created_at": now}
    return ensure(conn, IncidentSeriesRow, key, values)


def incidents_over(
    conn: sa.Connection, branch: str, old_position: int, new_position: int
) -> list[SearchRow]:
    """The searches of alarms on a branch that share a suspect with (old, new], newest first."""
    query = sa.select(SEARCH).where(
        SEARCH.c.branch == branch,
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.reason == SearchReason.ALARM,
        SEARCH.c.fix_sha.is_(None),
        SEARCH.c.old_position < new_position,
        SEARCH.c.new_position > old_position,
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()), SearchRow)


def judgement_of_search(
    conn: sa.Connection, search_id: int, testbed: str, workload: str
) -> int | None:
    """The first alarm of a series that is linked to a search."""
    query = sa.select(JUDGEMENT.c.id).where(
        JUDGEMENT.c.search_id == search_id,
        JUDGEMENT.c.testbed == testbed,
        JUDGEMENT.c.workload == workload,
    )
    return conn.execute(query.order_by(JUDGEMENT.c.id).limit(1)).scalar()
