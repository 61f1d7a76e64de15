"""Queries on branches: the trunk that each parts from, and the commits on its line.

The line of a branch is its own commits and, up to where it parts from its trunk, the trunk's line:
commits that branches share are stored, measured and judged once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from buildbot_bench.core.revision import repository_of
from buildbot_bench.plugin.db.schema import (
    BRANCH,
    COMMIT,
    DROPPED_COMMIT,
    IMAGE,
    JUDGEMENT,
    BranchRow,
)
from buildbot_bench.plugin.db.sql import Lock, insert_unless_known, rows_by, serialise


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
