"""Queries on judgements of samples."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.core.branches import repository_of
from buildbot_bench.plugin.db.branches import judgements_of, line_of
from buildbot_bench.plugin.db.finding_rows import JudgementRow, NewJudgement
from buildbot_bench.plugin.db.schema import JUDGEMENT
from buildbot_bench.plugin.db.sql import (
    ensure,
    fetch_all,
    values_of,
)
from buildbot_bench.plugin.db.states import ALARMS, JudgementState


def ensure_judgement(conn: sa.Connection, new: NewJudgement, *, now: float) -> JudgementRow:
    """The judgement of two revisions on a testbed and workload; a known one stays as it is."""
    values = values_of(new) | {"created_at": now, "changed_at": now}
    key = {name: values.pop(name) for name in ("testbed", "workload", "new_sha", "old_sha")}
    key["repository"] = repository_of(new.branch or "")
    return ensure(conn, JudgementRow, key, values)


def judgements(
    conn: sa.Connection, state: JudgementState | str | None = None, limit: int | None = None
) -> list[JudgementRow]:
    """The judgements in a state, or all; newest first."""
    query = sa.select(JUDGEMENT).order_by(JUDGEMENT.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(JUDGEMENT.c.state == state)
    return fetch_all(conn, query, JudgementRow)


def judgements_of_commit(
    conn: sa.Connection, sha: str, repository: str = ""
) -> dict[tuple[str, str], JudgementRow]:
    """What was made of a repository's commit last, by testbed and workload."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.new_sha == sha, JUDGEMENT.c.repository == repository
    )
    rows = fetch_all(conn, query.order_by(JUDGEMENT.c.id), JudgementRow)
    return {(row.testbed, row.workload): row for row in rows}


def closed_judgements(
    conn: sa.Connection, testbed: str, workload: str, first_position: int, branch: str
) -> list[JudgementRow]:
    """Of a series on a branch since a position: alarms, and what went some rounds without one.

    What was marked as noise has an effect from the first round on.
    """
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.testbed == testbed,
        JUDGEMENT.c.workload == workload,
        JUDGEMENT.c.new_position >= first_position,
        judgements_of(line_of(conn, branch)),
        sa.or_(
            JUDGEMENT.c.state.in_(ALARMS),
            sa.and_(
                JUDGEMENT.c.state == JudgementState.NOTHING,
                sa.or_(JUDGEMENT.c.rounds > 1, JUDGEMENT.c.effect.is_not(None)),
            ),
        ),
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.new_position), JudgementRow)


def unsearched_improvements(conn: sa.Connection, since: float, limit: int) -> list[JudgementRow]:
    """The improvements judged since then that no search is to explain, oldest first."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.state == JudgementState.IMPROVEMENT,
        JUDGEMENT.c.search_id.is_(None),
        JUDGEMENT.c.created_at >= since,
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.id).limit(limit), JudgementRow)


def alarms_over(
    conn: sa.Connection, branch: str, old_position: int, new_position: int
) -> list[JudgementRow]:
    """The alarms of all series over some of a branch's commits in (old, new], oldest first."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.state.in_(ALARMS),
        JUDGEMENT.c.old_position < new_position,
        JUDGEMENT.c.new_position > old_position,
        judgements_of(line_of(conn, branch)),
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.id), JudgementRow)
