"""Queries on the commits of each branch, on its line, and on the trunk that it parts from.

The line of a branch is its own commits and, up to where it parts from its trunk, the trunk's line:
commits that branches share are stored, measured and judged once.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.revision import repository_of
from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import CommitRow, NewCommit, SeriesName
from buildbot_bench.plugin.db.schema import (
    BRANCH,
    COMMIT,
    DROPPED_COMMIT,
    IMAGE,
    JUDGEMENT,
    PROBE,
    BranchRow,
)
from buildbot_bench.plugin.db.sql import (
    MOST,
    Lock,
    fetch,
    fetch_all,
    insert_unless_known,
    of_series,
    rows_by,
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
    first = min(row.position for row in rows)
    of_branch = (COMMIT.c.branch == branch, COMMIT.c.position >= first)
    there = conn.execute(sa.select(COMMIT.c.position, COMMIT.c.sha).where(*of_branch))
    known = {row.position: row.sha for row in there}
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


def _own(conn: sa.Connection, branch: str) -> sa.ColumnElement[bool]:
    """The condition for what a branch has since it parted from its trunk."""
    return commits_on(line_of(conn, branch)[:1])


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A stretch of a line: the commits of a branch at positions in (after, last]; None: no end."""

    branch: str
    after: int = 0
    last: int | None = None

    def holds(self, position: sa.ColumnElement[int]) -> list[sa.ColumnElement[bool]]:
        """The conditions for a position; none for all of a branch that parts from no other."""
        first = [position > self.after] if self.after else []
        return first if self.last is None else [*first, position <= self.last]


# All branches that were ever watched, in the order in which they came.
branches = rows_by(BranchRow)


def keep_branch(conn: sa.Connection, name: str, *, trunk: str | None, fork_position: int) -> None:
    """Say where a branch parts from its trunk; without one, that it is on a line of its own."""
    serialise(conn, Lock.COMMITS)
    values = {"trunk": trunk, "fork_position": fork_position}
    if not insert_unless_known(conn, BRANCH, {"name": name, **values}):
        conn.execute(sa.update(BRANCH).where(BRANCH.c.name == name).values(**values))


def note_branch(conn: sa.Connection, name: str) -> None:
    """Have a row of a branch; a known one stays as it is."""
    insert_unless_known(conn, BRANCH, {"name": name, "trunk": None, "fork_position": 0})


def line_of(conn: sa.Connection, branch: str) -> tuple[Segment, ...]:
    """The stretches that make up a branch's history, its own first."""
    query = sa.select(BRANCH.c.name, BRANCH.c.trunk, BRANCH.c.fork_position)
    known = {
        name: (trunk, fork)
        for name, trunk, fork in conn.execute(query.where(BRANCH.c.trunk.is_not(None)))
    }
    found: list[Segment] = []
    name: str | None = branch
    last: int | None = None
    while name is not None and all(segment.branch != name for segment in found):
        trunk, fork = known.get(name, (None, 0))
        found.append(
            Segment(branch=name, after=fork if last is None else min(fork, last), last=last)
        )
        name, last = trunk, fork if last is None else min(fork, last)
    return tuple(found)


def is_on(line: Sequence[Segment], branch: str, position: int) -> bool:
    """Whether a line has the commit that a branch's line has at a position: they share it."""
    own = next((one for one in line if one.branch == branch), None)
    return own is not None and (own.last is None or position <= own.last)


def commits_on(line: Sequence[Segment]) -> sa.ColumnElement[bool]:
    """The condition for the commits of a line."""
    return sa.or_(
        *(sa.and_(COMMIT.c.branch == one.branch, *one.holds(COMMIT.c.position)) for one in line)
    )


def arrived_on(line: Sequence[Segment]) -> sa.ColumnElement[bool]:
    """The condition for the images of commits that came to a line."""
    return sa.and_(
        IMAGE.c.repository == repository_of_line(line),
        sa.or_(*(_came(one, IMAGE.c.sha, IMAGE.c.position) for one in line)),
    )


def images_of_history(line: Sequence[Segment]) -> sa.ColumnElement[bool]:
    """The plain images that are a line's history: of no variant, of no commit that was displaced.

    Commits from before the farm was set up are in no row of bench_commit; they count.
    """
    return sa.and_(
        IMAGE.c.variant == IMAGE.c.sha,
        IMAGE.c.repository == repository_of_line(line),
        sa.or_(*map(_of_segment, line)),
    )


def repository_of_line(line: Sequence[Segment]) -> str:
    """The repository of a line: no branch parts from one of another repository."""
    return repository_of(line[0].branch)


def _of_segment(one: Segment) -> sa.ColumnElement[bool]:
    displaced = sa.select(COMMIT.c.id).where(
        COMMIT.c.branch == one.branch,
        COMMIT.c.position == IMAGE.c.position,
        COMMIT.c.sha != IMAGE.c.sha,
    )
    is_its = (IMAGE.c.branch == one.branch, IMAGE.c.branch.is_(None))
    came = _came(one, IMAGE.c.sha, IMAGE.c.position)
    return sa.and_(
        *one.holds(IMAGE.c.position),
        sa.or_(*is_its, came),
        ~displaced.exists(),
        ~_dropped(one, IMAGE.c.sha),
    )


def _dropped(one: Segment, sha: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Whether a branch had a commit before it was moved back or replaced, and has it no more."""
    return (
        sa.select(DROPPED_COMMIT.c.id)
        .where(DROPPED_COMMIT.c.branch == one.branch, DROPPED_COMMIT.c.sha == sha)
        .exists()
    )


def judgements_of(line: Sequence[Segment]) -> sa.ColumnElement[bool]:
    """The condition for what was judged on a line; what an earlier release judged is of each."""
    of_line = sa.or_(
        JUDGEMENT.c.branch.is_(None),
        *(
            sa.and_(
                JUDGEMENT.c.branch == one.branch,
                *one.holds(JUDGEMENT.c.new_position),
                ~_dropped(one, JUDGEMENT.c.new_sha),
            )
            for one in line
        ),
        *(_came(one, JUDGEMENT.c.new_sha, JUDGEMENT.c.new_position) for one in line[1:]),
    )
    return sa.and_(JUDGEMENT.c.repository == repository_of_line(line), of_line)


def _came(
    one: Segment, sha: sa.ColumnElement[str], position: sa.ColumnElement[int]
) -> sa.ColumnElement[bool]:
    row = sa.select(COMMIT.c.id).where(
        COMMIT.c.branch == one.branch, COMMIT.c.position == position, COMMIT.c.sha == sha
    )
    return sa.and_(*one.holds(position), row.exists())


def branch_of(conn: sa.Connection, sha: str, repository: str) -> str | None:
    """The branch of a repository to which a commit came, of several the one watched first."""
    query = (
        sa.select(COMMIT.c.branch)
        .outerjoin(BRANCH, BRANCH.c.name == COMMIT.c.branch)
        .where(COMMIT.c.sha == sha)
        .order_by(BRANCH.c.id, COMMIT.c.id)
    )
    came = conn.execute(query).scalars()
    return next((branch for branch in came if repository_of(branch) == repository), None)
