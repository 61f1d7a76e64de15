"""Queries of each broker cycle on changes since the last look, for many series or searches."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from buildbot_bench.api.answers import AbTestState, ProbeState, SearchState
from buildbot_bench.core.revision import repository_of
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.db.columns import ImageState, JudgementState
from buildbot_bench.plugin.db.commits import commits_on, line_of, newest_commit
from buildbot_bench.plugin.db.images import in_span
from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import AskedRow, CommitRow, ImageRow, SeriesName
from buildbot_bench.plugin.db.schema import (
    AB_TEST,
    AB_TEST_IMAGE,
    AB_TEST_VARIANT,
    COMMIT,
    IMAGE,
    JUDGEMENT,
    MARK,
    PROBE,
    SEARCH,
    UNDONE,
)
from buildbot_bench.plugin.db.sql import MOST, fetch_all, of_series, since_row


class AskedUpTo(NamedTuple):
    """How far a branch's own commits were asked for on a series, and when last."""

    branch: str
    testbed: str
    workload: str
    position: int
    at_s: float
    probe_id: int


def newest_commits(conn: sa.Connection, branches: Collection[str]) -> dict[str, CommitRow]:
    """The newest commit of each branch's line, of those that have one."""
    found = {branch: newest_commit(conn, branch) for branch in branches}
    return {branch: row for branch, row in found.items() if row is not None}


def have_commits(conn: sa.Connection, commits: Collection[tuple[str, str]]) -> bool:
    """Whether branches still have commits that came to them, each a branch and a hash.

    While a branch has a commit it has all that came before it, too.
    """
    shas = {sha for _, sha in commits}
    query = sa.select(COMMIT.c.branch, COMMIT.c.sha).where(COMMIT.c.sha.in_(shas))
    return set(commits) <= {(row.branch, row.sha) for row in conn.execute(query)}


def asked_since(conn: sa.Connection, probe_id: int) -> list[AskedUpTo]:
    """What was asked for commits on their own account by later requests than that one."""
    columns = ("image_id", "testbed", "workload", "reason", "created_at")
    later = since_row(PROBE, probe_id, *(PROBE.c[name] for name in columns))
    query = (
        sa.select(
            IMAGE.c.repository,
            COMMIT.c.branch,
            later.c.testbed,
            later.c.workload,
            sa.func.max(COMMIT.c.position),
            sa.func.max(later.c.created_at),
            sa.func.max(later.c.id),
        )
        .select_from(later)
        .join(IMAGE, IMAGE.c.id == later.c.image_id)
        .join(COMMIT, COMMIT.c.sha == IMAGE.c.variant)
        .where(later.c.reason.in_(OF_COMMITS))
        .group_by(IMAGE.c.repository, COMMIT.c.branch, later.c.testbed, later.c.workload)
    )
    return [
        AskedUpTo._make(asked)
        for repository, *asked in conn.execute(query)
        if repository == repository_of(asked[0])
    ]


def undone_commits(conn: sa.Connection, lost_before: float) -> dict[SeriesName, tuple[int, int]]:
    """By series how many requests for commits are to be forgotten: cancelled ones, and lost ones.

    Those that were lost later than that time still count as asked for. Both are final states.
    """
    ended_at = sa.func.coalesce(PROBE.c.ended_at, PROBE.c.created_at)
    is_lost = PROBE.c.state == ProbeState.LOST
    query = (
        sa.select(
            PROBE.c.testbed,
            PROBE.c.workload,
            sa.func.sum(sa.case((PROBE.c.state == ProbeState.CANCELLED, 1), else_=0)),
            sa.func.sum(sa.case((sa.and_(is_lost, ended_at < lost_before), 1), else_=0)),
        )
        .where(sa.text(UNDONE), PROBE.c.reason.in_(OF_COMMITS))
        .group_by(PROBE.c.testbed, PROBE.c.workload)
    )
    return {(testbed, workload): (a, b) for testbed, workload, a, b in conn.execute(query)}


def versions_since(
    conn: sa.Connection, positions: Mapping[str, int]
) -> dict[str, tuple[int, int | None]]:
    """By branch how many images its repository has from a position on, and how often changed."""
    figures = sa.select(sa.func.count(), sa.func.sum(IMAGE.c.version))
    found = {}
    for branch, first in positions.items():
        later = (IMAGE.c.position >= first, IMAGE.c.repository == repository_of(branch))
        count, versions = conn.execute(figures.where(*later)).one()
        found[branch] = (count, versions)
    return found


def last_untestable(conn: sa.Connection, repositories: Collection[str]) -> dict[str, int]:
    """By repository the highest position at which a build failed for good, on any branch.

    Each is asked for by itself: to group them, SQLite would read the whole table.
    """
    failed = sa.select(sa.func.max(IMAGE.c.position)).where(IMAGE.c.state == ImageState.UNTESTABLE)
    found = {
        name: conn.execute(failed.where(IMAGE.c.repository == name)).scalar()
        for name in repositories
    }
    return {name: position for name, position in found.items() if position is not None}


def series_that_failed(
    conn: sa.Connection, positions: Mapping[str, int]
) -> dict[str, set[SeriesName]]:
    """By branch the series on which a plain revision since its position did not boot."""
    return {branch: _failed(conn, branch, first) for branch, first in positions.items()}


def _failed(conn: sa.Connection, branch: str, first_position: int) -> set[SeriesName]:
    query = (
        sa.select(PROBE.c.testbed, PROBE.c.workload)
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .where(
            PROBE.c.failure_kind == FailureKind.UNTESTABLE,
            in_span(conn, first_position, MOST, branch),
        )
        .distinct()
    )
    return {(row.testbed, row.workload) for row in conn.execute(query)}


def images_of_new_probes(conn: sa.Connection) -> dict[int, ImageRow]:
    """The images of the requests that nobody issued yet, by their ids."""
    new = sa.select(PROBE.c.image_id).where(PROBE.c.state == ProbeState.NEW)
    rows = fetch_all(conn, sa.select(IMAGE).where(IMAGE.c.id.in_(new)), ImageRow)
    return {row.id: row for row in rows}


def versions_of_ranges(conn: sa.Connection) -> dict[int, tuple[int, int]]:
    """By running search how many images its range has, and how often those were changed.

    No image is ever deleted, and each change counts its version up.
    """
    query = (
        sa.select(SEARCH.c.id, sa.func.count(), sa.func.sum(IMAGE.c.version))
        .join(
            IMAGE,
            sa.and_(
                IMAGE.c.position.between(SEARCH.c.old_position, SEARCH.c.new_position),
                IMAGE.c.repository == SEARCH.c.repository,
            ),
        )
        .where(SEARCH.c.state == SearchState.RUNNING)
        .group_by(SEARCH.c.id)
    )
    return {number: (count, versions) for number, count, versions in conn.execute(query)}


def versions_of_ab_tests(conn: sa.Connection) -> dict[int, dict[str, tuple[int, int]]]:
    """By running comparison how many requests and images it has, and how often those changed.

    None of them is ever deleted, and each change counts its version up.
    """
    parts = {
        "probes": (PROBE, AB_TEST.join(PROBE, PROBE.c.ab_test_id == AB_TEST.c.id)),
        "variants": (IMAGE, AB_TEST.join(AB_TEST_VARIANT).join(IMAGE)),
        "further": (IMAGE, AB_TEST.join(AB_TEST_IMAGE).join(IMAGE)),
    }
    found: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for name, (of, joined) in parts.items():
        query = (
            sa.select(AB_TEST.c.id, sa.func.count(), sa.func.sum(of.c.version))
            .select_from(joined)
            .where(AB_TEST.c.state == AbTestState.RUNNING)
            .group_by(AB_TEST.c.id)
        )
        for number, count, versions in conn.execute(query):
            found[number][name] = (count, versions)
    return dict(found)


def version_of_findings(conn: sa.Connection) -> tuple[tuple[int, int], ...]:
    """What is another one when a search found something, an improvement was judged or marked."""
    tables = (
        (SEARCH, SEARCH.c.state == SearchState.FOUND),
        (JUDGEMENT, JUDGEMENT.c.state == JudgementState.IMPROVEMENT),
        (MARK, sa.true()),
    )
    return tuple(
        tuple(
            conn.execute(sa.select(sa.func.count(), sa.func.sum(of.c.version)).where(which)).one()
        )
        for of, which in tables
    )


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
