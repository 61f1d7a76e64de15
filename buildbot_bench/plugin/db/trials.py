"""Queries of each broker cycle on which revisions built and booted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.db.images import in_span
from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, PROBE
from buildbot_bench.plugin.db.sql import MOST
from buildbot_bench.plugin.db.states import ImageState, ProbeReason


class BootRow(NamedTuple):
    """One boot of a request, and whether it gave a value."""

    probe_id: int
    at_s: float
    counted: bool


def boots_of(
    conn: sa.Connection, *, testbed: str, workload: str, image_ids: Collection[int]
) -> list[BootRow]:
    """The boots of some images as they are, without a tunable set, in the order measured."""
    query = sa.select(ITERATION.c.probe_id, ITERATION.c.at_s, ITERATION.c.value).where(
        ITERATION.c.testbed == testbed,
        ITERATION.c.workload == workload,
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


def newest_attempts(
    conn: sa.Connection, *, testbed: str, workload: str, limit: int
) -> list[AttemptRow]:
    """The jobs of a series that were asked for last and booted something, newest first."""
    query = (
        sa.select(
            *(PROBE.c.id, PROBE.c.image_id, IMAGE.c.variant, IMAGE.c.label, PROBE.c.ended_at),
            *(PROBE.c.failure, PROBE.c.failure_kind.is_(None), PROBE.c.reason, IMAGE.c.repository),
        )
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .where(PROBE.c.testbed == testbed, PROBE.c.workload == workload, _BOOTED)
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
    conn: sa.Connection, branch: str, testbed: str, workload: str, first_position: int
) -> dict[int, bool]:
    """The same of the boots of a series; requests that booted nothing are left out."""
    query = (
        sa.select(IMAGE.c.position, PROBE.c.failure_kind)
        .join(PROBE, PROBE.c.image_id == IMAGE.c.id)
        .where(
            in_span(conn, first_position, MOST, branch),
            PROBE.c.testbed == testbed,
            PROBE.c.workload == workload,
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
