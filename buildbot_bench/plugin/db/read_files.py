"""Queries on builds and boots: the files that builds read, and which revisions built and booted."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.revision import repository_of
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.db.columns import ImageState, ProbeReason, ProfileState
from buildbot_bench.plugin.db.commits import arrived_on, commits_on, images_of_history, line_of
from buildbot_bench.plugin.db.images import in_span
from buildbot_bench.plugin.db.rows import CaptureRow, CommitRow, ListedRow, SeriesName
from buildbot_bench.plugin.db.schema import (
    ARTEFACT,
    CAPTURE,
    COMMIT,
    IMAGE,
    ITERATION,
    PROBE,
    PROFILE,
    READ_FILES,
)
from buildbot_bench.plugin.db.sql import MOST, fetch, fetch_all, insert_unless_known, of_series


def keep_read_files(conn: sa.Connection, body: bytes) -> str:
    """Keep a list of files that a build read, once however many read them; its digest."""
    digest = hashlib.sha256(body).hexdigest()
    insert_unless_known(conn, READ_FILES, {"digest": digest, "body": body})
    return digest


def read_files(conn: sa.Connection, digests: Collection[str]) -> dict[str, bytes]:
    """The lists with those digests."""
    query = sa.select(READ_FILES).where(READ_FILES.c.digest.in_(digests))
    return {row.digest: row.body for row in conn.execute(query)}


def listed_images(
    conn: sa.Connection, branch: str, first_position: int, built_by: str
) -> list[ListedRow]:
    """The plain images of a branch that one job built and whose lists are known, by position."""
    query = sa.select(IMAGE.c.position, IMAGE.c.label, IMAGE.c.read_files.label("digest")).where(
        IMAGE.c.position >= first_position,
        IMAGE.c.variant == IMAGE.c.sha,
        IMAGE.c.read_files.is_not(None),
        IMAGE.c.built_by == built_by,
        arrived_on(line_of(conn, branch)),
    )
    return fetch_all(conn, query.order_by(IMAGE.c.position, IMAGE.c.ordinal), ListedRow)


def newest_listed(conn: sa.Connection, branch: str, last_position: int) -> str | None:
    """The digest of the list of the newest build of a branch's plain revisions up to a position."""
    query = sa.select(IMAGE.c.read_files).where(
        IMAGE.c.position <= last_position,
        images_of_history(line_of(conn, branch)),
        IMAGE.c.read_files.is_not(None),
    )
    newest_first = query.order_by(IMAGE.c.position.desc(), IMAGE.c.ordinal)
    found: str | None = conn.execute(newest_first.limit(1)).scalar()
    return found


def unbuilt_commits(conn: sa.Connection, branch: str, first_position: int) -> list[CommitRow]:
    """Important commits from a position on of which nobody asked for an image, by position."""
    asked = sa.select(IMAGE.c.id).where(
        IMAGE.c.variant == COMMIT.c.sha, IMAGE.c.repository == repository_of(branch)
    )
    query = sa.select(COMMIT).where(
        commits_on(line_of(conn, branch)),
        COMMIT.c.position >= first_position,
        COMMIT.c.important,
        ~asked.exists(),
    )
    return fetch_all(conn, query.order_by(COMMIT.c.position), CommitRow)


def lists_without_kernel(
    conn: sa.Connection, untestable_before: float
) -> dict[int, tuple[str, int]]:
    """Repository and position of images that keep a list though their kernel was deleted, by image.

    Kernels that are untestable are deleted early: their lists count from a time on.
    """
    there = sa.select(ARTEFACT.c.id).where(ARTEFACT.c.digest == IMAGE.c.digest)
    is_old = sa.and_(IMAGE.c.state == ImageState.UNTESTABLE, IMAGE.c.changed_at < untestable_before)
    query = sa.select(IMAGE.c.id, IMAGE.c.repository, IMAGE.c.position).where(
        IMAGE.c.read_files.is_not(None),
        sa.or_(IMAGE.c.state == ImageState.DROPPED, is_old),
        ~there.exists(),
    )
    return {row.id: (row.repository, row.position) for row in conn.execute(query)}


def forget_read_files(conn: sa.Connection, images: Collection[int]) -> None:
    """Take the lists from these images, and delete those of them that no other image has.

    A list that a build keeps anew at this moment may go with them: it is then not known.
    """
    listed = sa.select(IMAGE.c.read_files).where(IMAGE.c.id.in_(images))
    digests = {row.read_files for row in conn.execute(listed) if row.read_files}
    taken = sa.update(IMAGE).where(IMAGE.c.id.in_(images))
    conn.execute(taken.values(read_files=None, version=IMAGE.c.version + 1))
    used = sa.select(IMAGE.c.id).where(IMAGE.c.read_files == READ_FILES.c.digest)
    unused = sa.delete(READ_FILES).where(READ_FILES.c.digest.in_(digests), ~used.exists())
    conn.execute(unused)


def presumed_no_ops(conn: sa.Connection, branch: str, limit: int | None = None) -> list[CommitRow]:
    """The commits of a branch that are presumed to be no-op changes, newest first."""
    query = sa.select(COMMIT).where(
        commits_on(line_of(conn, branch)), COMMIT.c.no_op_of.is_not(None)
    )
    return fetch_all(conn, query.order_by(COMMIT.c.position.desc()).limit(limit), CommitRow)


def presume_no_ops(conn: sa.Connection, no_op_of: Mapping[int, str | None]) -> None:
    """Say of commits, by their ids, whose build read nothing that they touch, or take it back."""
    for number, label in no_op_of.items():
        conn.execute(sa.update(COMMIT).where(COMMIT.c.id == number).values(no_op_of=label))


def capture_of_workload(
    conn: sa.Connection, series: SeriesName, before_s: float | None
) -> CaptureRow | None:
    """The newest capture of a workload that knows places, of that testbed if there is one.

    One that was taken after a time does not count, if one is given.
    """
    query = (
        sa.select(CAPTURE)
        .join(PROFILE, PROFILE.c.digest == CAPTURE.c.digest)
        .where(
            PROFILE.c.workload == series[1],
            PROFILE.c.state == ProfileState.DONE,
            CAPTURE.c.places.is_not(None),
        )
    )
    if before_s is not None:
        query = query.where(PROFILE.c.ended_at <= before_s)
    own_first = sa.case((PROFILE.c.testbed == series[0], 0), else_=1)
    return fetch(conn, query.order_by(own_first, PROFILE.c.ended_at.desc()), CaptureRow)


class BootRow(NamedTuple):
    """One boot of a request, and whether it gave a value."""

    probe_id: int
    at_s: float
    counted: bool


def boots_of(conn: sa.Connection, series: SeriesName, image_ids: Collection[int]) -> list[BootRow]:
    """The boots of some images as they are, without a tunable set, in the order measured."""
    query = sa.select(ITERATION.c.probe_id, ITERATION.c.at_s, ITERATION.c.value).where(
        *of_series(ITERATION, series),
        ITERATION.c.tunables == "",
        ITERATION.c.image_id.in_(image_ids),
        ITERATION.c.is_primary,
    )
    rows = conn.execute(query.order_by(ITERATION.c.at_s, ITERATION.c.probe_id))
    return [BootRow(row.probe_id, row.at_s, row.value is not None) for row in rows]


class AttemptRow(NamedTuple):
    """One job of boots of a series that ended, and whether its kernel passed for testable."""

    id: int
    image_id: int
    variant: str
    label: str
    ended_at: float
    failure: str | None
    worked: bool
    reason: ProbeReason
    repository: str


_BOOTED = sa.and_(
    PROBE.c.state == ProbeState.DONE,
    PROBE.c.tunables == "",
    PROBE.c.brid.is_not(None),
    PROBE.c.ended_at.is_not(None),
)


def series_that_fail(conn: sa.Connection) -> list[tuple[str, str]]:
    """The series on which a kernel, as it is, did not boot, and nothing asked for later did.

    One query, no matter what is stored: behind an old failure a boot that worked is soon found.
    """
    failed = (
        sa.select(PROBE.c.testbed, PROBE.c.workload, sa.func.max(PROBE.c.id).label("newest"))
        .where(PROBE.c.failure_kind == FailureKind.UNTESTABLE, _BOOTED)
        .group_by(PROBE.c.testbed, PROBE.c.workload)
        .subquery()
    )
    later = PROBE.alias()
    worked = sa.exists().where(
        later.c.id > failed.c.newest,
        later.c.testbed == failed.c.testbed,
        later.c.workload == failed.c.workload,
        later.c.state == ProbeState.DONE,
        later.c.failure_kind.is_(None),
        later.c.tunables == "",
        later.c.brid.is_not(None),
    )
    query = sa.select(failed.c.testbed, failed.c.workload).where(~worked)
    return [(row.testbed, row.workload) for row in conn.execute(query)]


def newest_attempts(conn: sa.Connection, series: SeriesName, limit: int) -> list[AttemptRow]:
    """The jobs of a series that were asked for last and booted something, newest first."""
    query = (
        sa.select(
            *(PROBE.c.id, PROBE.c.image_id, IMAGE.c.variant, IMAGE.c.label, PROBE.c.ended_at),
            *(PROBE.c.failure, PROBE.c.failure_kind.is_(None), PROBE.c.reason, IMAGE.c.repository),
        )
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .where(*of_series(PROBE, series), _BOOTED)
        .order_by(PROBE.c.id.desc())
        .limit(limit)
    )
    return [AttemptRow._make(row) for row in conn.execute(query)]


def failing_builds(conn: sa.Connection, branch: str, first_position: int) -> dict[int, bool]:
    """By position whether all builds of a revision failed, of those that ended, newest first."""
    query = sa.select(IMAGE.c.position, IMAGE.c.digest).where(
        in_span(conn, first_position, MOST, branch),
        sa.or_(IMAGE.c.digest.is_not(None), IMAGE.c.state == ImageState.UNTESTABLE),
    )
    return _by_position((row.position, row.digest is None) for row in conn.execute(query))


def failing_boots(
    conn: sa.Connection, branch: str, series: SeriesName, first_position: int
) -> dict[int, bool]:
    """The same of the boots of a series; requests that booted nothing are left out."""
    query = (
        sa.select(IMAGE.c.position, PROBE.c.failure_kind)
        .join(PROBE, PROBE.c.image_id == IMAGE.c.id)
        .where(
            in_span(conn, first_position, MOST, branch),
            *of_series(PROBE, series),
            PROBE.c.state == ProbeState.DONE,
            PROBE.c.reason != ProbeReason.CONTROL,
            PROBE.c.tunables == "",
            PROBE.c.brid.is_not(None),
        )
    )
    rows = conn.execute(query)
    return _by_position((r.position, r.failure_kind == FailureKind.UNTESTABLE) for r in rows)


def _by_position(rows: Iterable[tuple[int, bool]]) -> dict[int, bool]:
    found: dict[int, bool] = {}
    for position, failed in rows:
        found[position] = failed and found.get(position, True)
    return dict(sorted(found.items(), reverse=True))
