"""Queries on marks that people put on reports and verdicts."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from buildbot_bench.api.states import SearchState
from buildbot_bench.core.incident import Standing
from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.finding_rows import MarkRow
from buildbot_bench.plugin.db.schema import INCIDENT_SERIES, JUDGEMENT, MARK, SEARCH
from buildbot_bench.plugin.db.sql import fetch_all
from buildbot_bench.plugin.db.states import MarkKind


def add_mark(
    conn: sa.Connection,
    *,
    kind: MarkKind | str,
    author: str,
    now: float,
    search_id: int | None = None,
    judgement_id: int | None = None,
    fix: Revision | None = None,
) -> MarkRow:
    """Keep what somebody says; what was said before stays beside it. `fix` is what fixed it."""
    added = conn.execute(
        sa.insert(MARK)
        .values(
            search_id=search_id,
            judgement_id=judgement_id,
            kind=kind,
            fixed_sha=fix and fix.sha,
            fixed_label=fix and fix.label,
            author=author,
            at_s=now,
            pending=kind != MarkKind.FIXED,
        )
        .returning(*MARK.c)
    )
    return MarkRow(**added.mappings().one())


def mark_searches(
    conn: sa.Connection,
    search_ids: Collection[int],
    *,
    kind: MarkKind,
    author: str,
    now: float,
    fix: Revision | None = None,
) -> list[MarkRow]:
    """Keep what somebody says of several searches: of all of them, or of none."""
    return [
        add_mark(conn, kind=kind, author=author, now=now, search_id=search_id, fix=fix)
        for search_id in sorted(search_ids)
    ]


def marks_on_series(conn: sa.Connection, testbed: str, workload: str) -> list[MarkRow]:
    """The last words on changes of a series that say what they were: expected, or noise.

    They are said of its verdicts, of searches on it or begun by it, and of incidents that were
    confirmed on it. Oldest first.
    """

    def of(table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
        return table.c.testbed == testbed, table.c.workload == workload

    verdicts = sa.select(JUDGEMENT.c.id).where(*of(JUDGEMENT))
    begun = sa.select(JUDGEMENT.c.search_id).where(*of(JUDGEMENT), JUDGEMENT.c.search_id > 0)
    searched = sa.select(SEARCH.c.id).where(*of(SEARCH))
    confirmed = sa.select(INCIDENT_SERIES.c.search_id).where(
        *of(INCIDENT_SERIES), INCIDENT_SERIES.c.standing == Standing.CONFIRMED
    )
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id, MARK.c.judgement_id)
    query = sa.select(MARK).where(
        MARK.c.id.in_(last),
        MARK.c.kind.in_([MarkKind.EXPECTED, MarkKind.NOISE]),
        sa.or_(
            MARK.c.judgement_id.in_(verdicts),
            *(MARK.c.search_id.in_(ids) for ids in (begun, searched, confirmed)),
        ),
    )
    return fetch_all(conn, query.order_by(MARK.c.id), MarkRow)


def newest_marks(conn: sa.Connection) -> list[MarkRow]:
    """The last word on each report and each verdict of which anything was said, oldest first."""
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id, MARK.c.judgement_id)
    return fetch_all(conn, sa.select(MARK).where(MARK.c.id.in_(last)).order_by(MARK.c.id), MarkRow)


def opinions(conn: sa.Connection) -> dict[MarkKind, int]:
    """How many searches that named a culprit have which last word."""
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id)
    query = (
        sa.select(MARK.c.kind, sa.func.count().label("number"))
        .join(SEARCH, SEARCH.c.id == MARK.c.search_id)
        .where(MARK.c.id.in_(last), SEARCH.c.state == SearchState.FOUND)
        .group_by(MARK.c.kind)
    )
    return {row.kind: row.number for row in conn.execute(query)}
