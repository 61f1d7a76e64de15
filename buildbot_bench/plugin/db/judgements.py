"""Queries on what was made of samples, and on what people say of that; judges nothing."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.branches import judgements_of, line_of
from buildbot_bench.plugin.db.finding_rows import JudgementRow, MarkRow, NewJudgement
from buildbot_bench.plugin.db.schema import JUDGEMENT, MARK, SEARCH
from buildbot_bench.plugin.db.sql import (
    by_id,
    compare_and_swap,
    ensure,
    fetch_all,
    values_of,
)
from buildbot_bench.plugin.db.states import JudgementState, MarkKind, SearchState


def ensure_judgement(conn: sa.Connection, new: NewJudgement, *, now: float) -> JudgementRow:
    """The judgement of two revisions on a testbed and workload; a known one stays as it is."""
    values = values_of(new) | {"created_at": now, "changed_at": now}
    key = {name: values.pop(name) for name in ("testbed", "workload", "new_sha", "old_sha")}
    return ensure(conn, JUDGEMENT, JudgementRow, key, values)


def judgement(conn: sa.Connection, judgement_id: int) -> JudgementRow | None:
    """The judgement with that id."""
    return by_id(conn, JUDGEMENT, JudgementRow, judgement_id)


def judgements(
    conn: sa.Connection, state: JudgementState | str | None = None, limit: int | None = None
) -> list[JudgementRow]:
    """The judgements in a state, or all; newest first."""
    query = sa.select(JUDGEMENT).order_by(JUDGEMENT.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(JUDGEMENT.c.state == state)
    return fetch_all(conn, query, JudgementRow)


def closed_judgements(
    conn: sa.Connection, testbed: str, workload: str, first_position: int, branch: str
) -> list[JudgementRow]:
    """Of a series on a branch since a position: alarms, and what went some rounds without one."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.testbed == testbed,
        JUDGEMENT.c.workload == workload,
        JUDGEMENT.c.new_position >= first_position,
        judgements_of(line_of(conn, branch)),
        sa.or_(
            JUDGEMENT.c.state.in_([JudgementState.REGRESSION, JudgementState.IMPROVEMENT]),
            sa.and_(JUDGEMENT.c.state == JudgementState.NOTHING, JUDGEMENT.c.rounds > 1),
        ),
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.new_position), JudgementRow)


def alarms_over(
    conn: sa.Connection, branch: str, old_position: int, new_position: int
) -> list[JudgementRow]:
    """The alarms of all series over some of a branch's commits in (old, new], oldest first."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.state.in_([JudgementState.REGRESSION, JudgementState.IMPROVEMENT]),
        JUDGEMENT.c.old_position < new_position,
        JUDGEMENT.c.new_position > old_position,
        judgements_of(line_of(conn, branch)),
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.id), JudgementRow)


def change_judgement(
    conn: sa.Connection, /, row: JudgementRow, *, now: float, **columns: Any
) -> JudgementRow | None:
    """The judgement with columns changed; None when another was quicker."""
    return compare_and_swap(conn, JUDGEMENT, row, {**columns, "changed_at": now})


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
    """Keep what somebody says; what was said before stays beside it. `fix` is what mended it."""
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
            pending=kind == MarkKind.AGAIN,
        )
        .returning(*MARK.c)
    )
    return MarkRow(**added.mappings().one())


def marks_of_search(conn: sa.Connection, search_id: int) -> list[MarkRow]:
    """All that was said of a search's report, oldest first."""
    query = sa.select(MARK).where(MARK.c.search_id == search_id)
    return fetch_all(conn, query.order_by(MARK.c.id), MarkRow)


def marks_of_judgement(conn: sa.Connection, judgement_id: int) -> list[MarkRow]:
    """All that was said of a verdict, oldest first."""
    query = sa.select(MARK).where(MARK.c.judgement_id == judgement_id)
    return fetch_all(conn, query.order_by(MARK.c.id), MarkRow)


def newest_marks(conn: sa.Connection) -> list[MarkRow]:
    """The last word on each report and each verdict of which anything was said, oldest first."""
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id, MARK.c.judgement_id)
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
