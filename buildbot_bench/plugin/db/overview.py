"""Queries of the overview page: open findings, last marks and newest values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from buildbot_bench.plugin.db.finding_rows import MarkRow, SearchRow
from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, MARK, PROBE, SEARCH
from buildbot_bench.plugin.db.sql import fetch_all
from buildbot_bench.plugin.db.states import FRUITFUL_SEARCHES, SearchKind


@dataclass(frozen=True, kw_only=True, slots=True)
class NewestValue:
    """A boot that gave a value: `probe_id` is the job that it belongs to, `at_s` when it ended."""

    probe_id: int
    search_id: int | None
    reason: str
    testbed: str
    workload: str
    label: str
    sha: str
    image: int
    value: float
    unit: str
    at_s: float


def findings(conn: sa.Connection, limit: int, *, open_only: bool = False) -> list[SearchRow]:
    """The searches that found something, newest first; those whose incident is not over."""
    query = sa.select(SEARCH).where(SEARCH.c.state.in_(FRUITFUL_SEARCHES))
    if open_only:
        query = query.where(SEARCH.c.recovery.is_(None))
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()).limit(limit), SearchRow)


def findings_over(
    conn: sa.Connection, branch: str, kind: SearchKind, old_position: int, new_position: int
) -> list[SearchRow]:
    """The searches of a branch and kind that found something and hold all of (old, new]."""
    query = sa.select(SEARCH).where(
        SEARCH.c.state.in_(FRUITFUL_SEARCHES),
        SEARCH.c.branch == branch,
        SEARCH.c.kind == kind,
        SEARCH.c.old_position <= old_position,
        SEARCH.c.new_position >= new_position,
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()), SearchRow)


def last_marks(conn: sa.Connection, search_ids: Collection[int]) -> dict[int, MarkRow]:
    """The last word on each of some searches, by the search; none of those that nobody marked."""
    last = sa.select(sa.func.max(MARK.c.id)).where(MARK.c.search_id.in_(search_ids))
    query = sa.select(MARK).where(MARK.c.id.in_(last.group_by(MARK.c.search_id)))
    return {row.search_id or 0: row for row in fetch_all(conn, query, MarkRow)}


def newest_values(conn: sa.Connection, limit: int) -> list[NewestValue]:
    """The boots that gave a value last, newest first."""
    query = (
        sa.select(
            PROBE.c.id.label("probe_id"),
            PROBE.c.search_id,
            PROBE.c.reason,
            ITERATION.c.testbed,
            ITERATION.c.workload,
            IMAGE.c.label,
            IMAGE.c.sha,
            IMAGE.c.ordinal.label("image"),
            ITERATION.c.value,
            ITERATION.c.unit,
            ITERATION.c.at_s,
        )
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .where(ITERATION.c.is_primary, ITERATION.c.value.is_not(None))
        .order_by(ITERATION.c.id.desc())
        .limit(limit)
    )
    return [NewestValue(**row) for row in conn.execute(query).mappings()]
