"""Queries on marks, what people said of reports and verdicts; draws no conclusion from them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.opinion_rows import MarkRow
from buildbot_bench.plugin.db.schema import MARK, SEARCH
from buildbot_bench.plugin.db.sql import compare_and_swap, fetch_all
from buildbot_bench.plugin.db.states import MarkKind, SearchState


def add_mark(
    conn: sa.Connection,
    *,
    kind: MarkKind | str,
    author: str,
    now: float,
    search_id: int | None = None,
    comparison_id: int | None = None,
    fix: Revision | None = None,
) -> MarkRow:
    """Keep what somebody says; what was said before stays beside it. `fix` is what mended it."""
    added = conn.execute(
        sa.insert(MARK)
        .values(
            search_id=search_id,
            comparison_id=comparison_id,
            kind=kind,
            fixed_sha=fix and fix.sha,
            fixed_label=fix and fix.label,
            author=author,
            at_s=now,
            pending=kind == MarkKind.AGAIN,
        )
        .returning(*MARK.c)
    )
    return MarkRow(**added.mappings().one())


def marks_of_search(conn: sa.Connection, search_id: int) -> list[MarkRow]:
    """All that was said of a search's report, oldest first."""
    query = sa.select(MARK).where(MARK.c.search_id == search_id)
    return fetch_all(conn, query.order_by(MARK.c.id), MarkRow)


def marks_of_comparison(conn: sa.Connection, comparison_id: int) -> list[MarkRow]:
    """All that was said of a verdict, oldest first."""
    query = sa.select(MARK).where(MARK.c.comparison_id == comparison_id)
    return fetch_all(conn, query.order_by(MARK.c.id), MarkRow)


def newest_marks(conn: sa.Connection) -> list[MarkRow]:
    """The last word on each report and each verdict of which anything was said, oldest first."""
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id, MARK.c.comparison_id)
    return fetch_all(conn, sa.select(MARK).where(MARK.c.id.in_(last)).order_by(MARK.c.id), MarkRow)


def pending_marks(conn: sa.Connection) -> list[MarkRow]:
    """The wishes for fresh boots that nobody has seen to, oldest first."""
    return fetch_all(conn, sa.select(MARK).where(MARK.c.pending).order_by(MARK.c.id), MarkRow)


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


def change_mark(conn: sa.Connection, /, row: MarkRow, **columns: Any) -> MarkRow | None:
    """The mark with columns changed; None when another was quicker."""
    return compare_and_swap(conn, MARK, row, columns)
