"""Queries on searches."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from buildbot_bench.api.states import SearchState
from buildbot_bench.core.branches import repository_of
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, PROBE, SEARCH
from buildbot_bench.plugin.db.sql import (
    ensure,
    fetch_all,
    values_of,
)
from buildbot_bench.plugin.db.states import ImageState, SearchKind


def add_search(conn: sa.Connection, wanted: NewSearch, *, now: float) -> SearchRow:
    """Ask for a search, running from now on; a known key gives the search that has it.

    Without a key every call is another search.
    """
    values = values_of(wanted) | {"state": SearchState.RUNNING, "created_at": now}
    values["repository"] = repository_of(wanted.branch)
    key = values.pop("key")
    if key is not None:
        return ensure(conn, SearchRow, {"key": key}, values)
    added = conn.execute(sa.insert(SEARCH).values(**values).returning(*SEARCH.c))
    return SearchRow(**added.mappings().one())


def searches(
    conn: sa.Connection,
    states: Collection[SearchState | str] | None = None,
    limit: int | None = None,
    kinds: Collection[SearchKind] | None = None,
) -> list[SearchRow]:
    """The searches in certain states and of certain kinds, or all; newest first."""
    query = sa.select(SEARCH).order_by(SEARCH.c.id.desc()).limit(limit)
    if states is not None:
        query = query.where(SEARCH.c.state.in_(states))
    if kinds is not None:
        query = query.where(SEARCH.c.kind.in_(kinds))
    return fetch_all(conn, query, SearchRow)


def searches_over(
    conn: sa.Connection,
    testbed: str,
    workload: str,
    old_position: int,
    new_position: int,
    *,
    repository: str,
) -> list[SearchRow]:
    """The searches for a level whose ranges share a suspect with (old, new], newest first.

    All are of one repository. The old end of a range is no suspect: ranges that meet in one commit
    share none.
    """
    query = sa.select(SEARCH).where(
        SEARCH.c.testbed == testbed,
        SEARCH.c.workload == workload,
        SEARCH.c.repository == repository,
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.old_position < new_position,
        SEARCH.c.new_position > old_position,
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()), SearchRow)


def unstated_searches(conn: sa.Connection, limit: int) -> list[SearchRow]:
    """Those that ended with an answer whose figures were not worked out yet, newest first."""
    query = sa.select(SEARCH).where(
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.ended_at.is_not(None),
        SEARCH.c.answer.is_not(None),
        SEARCH.c.stated.is_(None),
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()).limit(limit), SearchRow)


def progress(conn: sa.Connection, search_id: int) -> tuple[int, int]:
    """How many iterations of a search gave a value, and how many of its images are built."""
    own = PROBE.c.search_id == search_id
    measured = sa.select(sa.func.count()).select_from(
        ITERATION.join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
    )
    built = sa.select(sa.func.count(IMAGE.c.id.distinct())).select_from(
        PROBE.join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
    )
    is_value = sa.and_(ITERATION.c.is_primary, ITERATION.c.value.is_not(None))
    return (
        conn.execute(measured.where(own, is_value)).scalar_one(),
        conn.execute(built.where(own, IMAGE.c.state == ImageState.BUILT)).scalar_one(),
    )
