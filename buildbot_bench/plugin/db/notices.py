"""Queries on notices, what is said of a culprit on other sites; speaks to none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from buildbot_bench.plugin.db.opinion_rows import NoticeRow
from buildbot_bench.plugin.db.rows import SearchRow
from buildbot_bench.plugin.db.schema import NOTICE, SEARCH
from buildbot_bench.plugin.db.sql import compare_and_swap, ensure, fetch_all
from buildbot_bench.plugin.db.states import NoticeKind, ReportState, SearchState


def add_notices(
    conn: sa.Connection,
    search_id: int,
    wanted: Sequence[tuple[NoticeKind | str, str, str]],
    *,
    now: float,
) -> list[NoticeRow]:
    """What is to be said of a search: of which kind, to which target, in which words; due now.

    Known ones stay as they are. When nothing is to be said a withheld notice says so, lest
    somebody asks again.
    """
    rows = wanted or [(NoticeKind.GITHUB_STATUS, "", "")]
    state = ReportState.NEW if wanted else ReportState.WITHHELD
    return [
        ensure(
            conn,
            NOTICE,
            NoticeRow,
            {"search_id": search_id, "kind": kind, "target": target},
            {"body": body, "state": state, "next_try_at": now, "created_at": now},
        )
        for kind, target, body in rows
    ]


def notices_of_search(conn: sa.Connection, search_id: int) -> list[NoticeRow]:
    """All that was or is to be said of a search, oldest first."""
    query = sa.select(NOTICE).where(NOTICE.c.search_id == search_id)
    return fetch_all(conn, query.order_by(NOTICE.c.id), NoticeRow)


def unnoticed_searches(conn: sa.Connection, ended_since: float) -> list[SearchRow]:
    """Searches that found something since then and of which nothing is written yet, oldest first.

    The time keeps a farm that is told of a site from telling it of all its past.
    """
    written = sa.select(NOTICE.c.id).where(NOTICE.c.search_id == SEARCH.c.id)
    query = sa.select(SEARCH).where(
        SEARCH.c.state == SearchState.FOUND, SEARCH.c.ended_at >= ended_since, ~written.exists()
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id), SearchRow)


def due_notices(conn: sa.Connection, now: float) -> list[NoticeRow]:
    """Notices that are still to be said and whose next try is due, the longest due first.

    As with reports, one that is `sending` is among them when its time has passed.
    """
    query = sa.select(NOTICE).where(
        NOTICE.c.state.in_([ReportState.NEW, ReportState.SENDING]), NOTICE.c.next_try_at <= now
    )
    return fetch_all(conn, query.order_by(NOTICE.c.next_try_at, NOTICE.c.id), NoticeRow)


def take_up_notices(conn: sa.Connection, now: float) -> int:
    """Let all that were given up be due again; how many they were."""
    due = {"state": ReportState.NEW, "attempts": 0, "denials": 0, "next_try_at": now}
    given_up = NOTICE.c.state == ReportState.GIVEN_UP
    changed = sa.update(NOTICE).where(given_up).values(**due, version=NOTICE.c.version + 1)
    return conn.execute(changed).rowcount


def change_notice(conn: sa.Connection, /, row: NoticeRow, **columns: Any) -> NoticeRow | None:
    """The notice with columns changed; None when another was quicker."""
    return compare_and_swap(conn, NOTICE, row, columns)
