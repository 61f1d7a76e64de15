"""Queries on the commits of each branch."""

from collections.abc import Sequence
from dataclasses import asdict

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.revision import repository_of
from buildbot_bench.plugin.db.branches import commits_on, line_of, note_branch
from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import AskedRow, CommitRow, NewCommit, SeriesName
from buildbot_bench.plugin.db.schema import COMMIT, DROPPED_COMMIT, IMAGE, PROBE
from buildbot_bench.plugin.db.sql import (
    MOST,
    Lock,
    fetch,
    fetch_all,
    insert_unless_known,
    of_series,
    serialise,
)


def add_commits(conn: sa.Connection, branch: str, rows: Sequence[NewCommit]) -> int:
    """Record what a branch has; says how many of the commits were not known.

    Known ones may be given again. Where a given commit takes the position of another one, the
    branch was rewritten: what the branch had from there on is forgotten first. Images and
    samples of the forgotten commits stay.
    """
    if not rows:
        return 0
    serialise(conn, Lock.COMMITS)
    note_branch(conn, branch)
    known = _shas_from(conn, branch, min(row.position for row in rows))
    rewritten = [row.position for row in rows if known.get(row.position, row.sha) != row.sha]
    if rewritten:
        fork = min(rewritten)
        _drop(conn, branch, fork)
        known = {position: sha for position, sha in known.items() if position < fork}
    _take_back(conn, branch, [row.sha for row in rows])
    new = [{"branch": branch, **asdict(row)} for row in rows if row.position not in known]
    if new:
        conn.execute(sa.insert(COMMIT), new)
    return len(new)


def forget_commits(conn: sa.Connection, branch: str, after: int) -> None:
    """Forget what came to a branch behind a position: it was moved back, or rewritten from there.

    Images and samples of the forgotten commits stay, and are no part of its history any more.
    """
    serialise(conn, Lock.COMMITS)
    _drop(conn, branch, after + 1)


def _drop(conn: sa.Connection, branch: str, first: int) -> None:
    """Take what a branch had from a position on out of its line, also what was only measured."""
    measured = sa.select(IMAGE.c.sha).where(
        IMAGE.c.variant == IMAGE.c.sha,
        IMAGE.c.position >= first,
        IMAGE.c.repository == repository_of(branch),
        sa.or_(IMAGE.c.branch == branch, IMAGE.c.branch.is_(None)),
    )
    came = sa.and_(COMMIT.c.branch == branch, COMMIT.c.position >= first)
    gone = measured.union(sa.select(COMMIT.c.sha).where(came))
    for sha in conn.execute(gone).scalars().all():
        insert_unless_known(conn, DROPPED_COMMIT, {"branch": branch, "sha": sha})
    conn.execute(sa.delete(COMMIT).where(came))


def _take_back(conn: sa.Connection, branch: str, shas: Sequence[str]) -> None:
    """Have commits on the line again that it once had and has now."""
    of_branch = DROPPED_COMMIT.c.branch == branch
    dropped = set(conn.execute(sa.select(DROPPED_COMMIT.c.sha).where(of_branch)).scalars())
    for sha in dropped.intersection(shas):
        conn.execute(sa.delete(DROPPED_COMMIT).where(of_branch, DROPPED_COMMIT.c.sha == sha))


def _shas_from(conn: sa.Connection, branch: str, first_position: int) -> dict[int, str]:
    query = sa.select(COMMIT.c.position, COMMIT.c.sha).where(
        COMMIT.c.branch == branch, COMMIT.c.position >= first_position
    )
    return {row.position: row.sha for row in conn.execute(query)}


def newest_commit(conn: sa.Connection, branch: str) -> CommitRow | None:
    """The newest commit of a branch's line as far as it is recorded."""
    newest_first = sa.select(COMMIT).order_by(COMMIT.c.position.desc())
    # What a branch has of its own is newer than all that it has of its trunk.
    for one in line_of(conn, branch):
        if (row := fetch(conn, newest_first.where(commits_on([one])), CommitRow)) is not None:
            return row
    return None


def first_arrival(conn: sa.Connection, branch: str) -> float | None:
    """When the first of a branch's own commits arrived; None while it has none."""
    query = sa.select(COMMIT.c.arrived_at).where(_own(conn, branch))
    return conn.execute(query.order_by(COMMIT.c.position).limit(1)).scalar()


def first_of_newest_push(conn: sa.Connection, branch: str) -> int:
    """The position of the first commit that came with the newest one that is to be measured.

    0 while a branch has none. They are the branch's own.
    """
    measured = sa.and_(_own(conn, branch), COMMIT.c.important, COMMIT.c.no_op_of.is_(None))
    newest = sa.select(COMMIT.c.arrived_at).where(measured).order_by(COMMIT.c.position.desc())
    with_it = COMMIT.c.arrived_at == newest.limit(1).scalar_subquery()
    query = sa.select(sa.func.min(COMMIT.c.position)).where(measured, with_it)
    return conn.execute(query).scalar() or 0


def commit_at(conn: sa.Connection, branch: str, position: int) -> CommitRow | None:
    """The commit of a branch's line at that position."""
    query = sa.select(COMMIT).where(COMMIT.c.position == position)
    return fetch(conn, query.where(commits_on(line_of(conn, branch))), CommitRow)


def commit_times(conn: sa.Connection, branch: str, first: int, last: int) -> dict[str, int]:
    """By hash when each commit of a branch's line was made, from a position to another.

    In seconds since the epoch; 0 for a commit without a date.
    """
    query = sa.select(COMMIT.c.sha, COMMIT.c.committed_at_s).where(
        commits_on(line_of(conn, branch)), COMMIT.c.position.between(first, last)
    )
    return {row.sha: row.committed_at_s for row in conn.execute(query)}


def unmeasured(
    conn: sa.Connection,
    branch: str,
    series: SeriesName,
    first_position: int = 0,
    *,
    last_position: int = MOST,
    lost_before: float = 0.0,
    limit: int | None = None,
) -> list[CommitRow]:
    """Important commits of a branch's own that nobody asked to measure, newest first.

    They are those from one position to another, but none that is presumed to be a no-op change.

    A probe counts that was issued because of the commit itself or as backfill, with any
    outcome, unless it was cancelled, or lost before a time.
    """
    ended_at = sa.func.coalesce(PROBE.c.ended_at, PROBE.c.created_at)
    forgotten = sa.and_(PROBE.c.state == ProbeState.LOST, ended_at < lost_before)
    asked = (
        sa.select(PROBE.c.id)
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .where(
            IMAGE.c.variant == COMMIT.c.sha,
            IMAGE.c.repository == repository_of(branch),
            *of_series(PROBE, series),
            PROBE.c.reason.in_(OF_COMMITS),
            PROBE.c.state != ProbeState.CANCELLED,
            ~forgotten,
        )
    )
    query = (
        sa.select(COMMIT)
        .where(
            _own(conn, branch),
            COMMIT.c.position.between(first_position, last_position),
            COMMIT.c.important,
            COMMIT.c.no_op_of.is_(None),
            ~asked.exists(),
        )
        .order_by(COMMIT.c.position.desc())
        .limit(limit)
    )
    return fetch_all(conn, query, CommitRow)


def asked_commits(
    conn: sa.Connection, branch: str, series: SeriesName, first_position: int
) -> list[AskedRow]:
    """The requests for commits of a branch from a position on, oldest request first."""
    query = (
        sa.select(COMMIT.c.position, PROBE.c.state, PROBE.c.failure_kind)
        .join(IMAGE, IMAGE.c.variant == COMMIT.c.sha)
        .join(PROBE, PROBE.c.image_id == IMAGE.c.id)
        .where(
            commits_on(line_of(conn, branch)),
            COMMIT.c.position >= first_position,
            IMAGE.c.repository == repository_of(branch),
            *of_series(PROBE, series),
            PROBE.c.reason.in_(OF_COMMITS),
        )
    )
    return fetch_all(conn, query.order_by(PROBE.c.id), AskedRow)


def _own(conn: sa.Connection, branch: str) -> sa.ColumnElement[bool]:
    """The condition for what a branch has since it parted from its trunk."""
    return commits_on(line_of(conn, branch)[:1])
