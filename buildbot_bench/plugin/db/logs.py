"""Queries on old logs of boots, and the deletion of these logs."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema import ITERATION, PROBE
from buildbot_bench.plugin.db.states import OPEN_PROBES

DELETED = "(this log was deleted: artefacts.retention.logs-days of bench.yml)"


def old_logs(conn: sa.Connection, before_s: float) -> list[tuple[int, int]]:
    """The boots that ended before a time and have a log, with their images, oldest first.

    Boots of comparisons are none of them, nor are those of requests that have not ended.
    """
    query = (
        sa.select(ITERATION.c.id, ITERATION.c.image_id)
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .where(
            ITERATION.c.at_s < before_s,
            ITERATION.c.log.not_in(["", DELETED]),
            PROBE.c.ab_test_id.is_(None),
            PROBE.c.state.not_in(OPEN_PROBES),
        )
        .order_by(ITERATION.c.id)
    )
    return [(row.id, row.image_id) for row in conn.execute(query)]


def delete_logs(conn: sa.Connection, iterations: Collection[int]) -> None:
    """Let the rows of these boots say that their log was deleted."""
    conn.execute(sa.update(ITERATION).where(ITERATION.c.id.in_(iterations)).values(log=DELETED))
