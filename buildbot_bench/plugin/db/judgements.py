"""Queries on what was made of samples, and on what people say of that; judges nothing."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.finding_rows import ComparisonRow, MarkRow, NewJudgement
from buildbot_bench.plugin.db.schema import COMPARISON, MARK, SEARCH
from buildbot_bench.plugin.db.sql import (
    by_id,
    compare_and_swap,
    ensure,
    fetch,
    fetch_all,
    values_of,
)
from buildbot_bench.plugin.db.states import ComparisonState, MarkKind, SearchState


def ensure_comparison(conn: sa.Connection, new: NewJudgement, *, now: float) -> ComparisonRow:
    """The judgement of two revisions on a testbed and workload; a known one stays as it is."""
    values = values_of(new) | {"created_at": now, "changed_at": now}
    key = {name: values.pop(name) for name in ("testbed", "workload", "new_sha", "old_sha")}
    return ensure(conn, COMPARISON, ComparisonRow, key, values)


def comparison(conn: sa.Connection, comparison_id: int) -> ComparisonRow | None:
    """The comparison with that id."""
    return by_id(conn, COMPARISON, ComparisonRow, comparison_id)


def comparison_of(
    conn: sa.Connection, *, testbed: str, workload: str, old_sha: str, new_sha: str
) -> ComparisonRow | None:
    """The comparison of two revisions on a testbed and workload."""
    query = _on(testbed, workload).where(
        COMPARISON.c.new_sha == new_sha, COMPARISON.c.old_sha == old_sha
    )
    return fetch(conn, query, ComparisonRow)


def comparisons(
    conn: sa.Connection, state: ComparisonState | str | None = None, limit: int | None = None
) -> list[ComparisonRow]:
    """The comparisons in a state, or all; newest first."""
    query = sa.select(COMPARISON).order_by(COMPARISON.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(COMPARISON.c.state == state)
    return fetch_all(conn, query, ComparisonRow)


def alarmed_elsewhere(
    conn: sa.Connection, testbed: str, old_position: int, new_position: int
) -> bool:
    """Whether another testbed raised an alarm over some of the commits in (old, new]."""
    query = sa.select(COMPARISON.c.id).where(
        COMPARISON.c.testbed != testbed,
        COMPARISON.c.state.in_([ComparisonState.REGRESSION, ComparisonState.IMPROVEMENT]),
        COMPARISON.c.old_position < new_position,
        COMPARISON.c.new_position > old_position,
    )
    return conn.execute(query.limit(1)).first() is not None


def comparisons_of(conn: sa.Connection, new_sha: str) -> list[ComparisonRow]:
    """The comparisons of a revision with older ones, on all testbeds, oldest request first."""
    query = sa.select(COMPARISON).where(COMPARISON.c.new_sha == new_sha)
    return fetch_all(conn, query.order_by(COMPARISON.c.id), ComparisonRow)


def change_comparison(
    conn: sa.Connection, /, row: ComparisonRow, *, now: float, **columns: Any
) -> ComparisonRow | None:
    """The comparison with columns changed; None when another was quicker."""
    return compare_and_swap(conn, COMPARISON, row, {**columns, "changed_at": now})


def _on(testbed: str, workload: str) -> sa.Select[tuple[object, ...]]:
    return sa.select(COMPARISON).where(
        COMPARISON.c.testbed == testbed, COMPARISON.c.workload == workload
    )


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
