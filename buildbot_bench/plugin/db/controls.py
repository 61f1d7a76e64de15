"""Queries on measurements of control images, which tell of a testbed and not of a revision."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow
from buildbot_bench.plugin.db.schema import ITERATION, PROBE
from buildbot_bench.plugin.db.sql import fetch_all
from buildbot_bench.plugin.db.states import ProbeReason, ProbeState


def control_probes(conn: sa.Connection, testbed: str, limit: int | None = None) -> list[ProbeRow]:
    """The newest requests for the control image of a testbed, oldest first."""
    query = sa.select(PROBE).where(
        PROBE.c.testbed == testbed, PROBE.c.reason == ProbeReason.CONTROL
    )
    return fetch_all(conn, query.order_by(PROBE.c.id.desc()).limit(limit), ProbeRow)[::-1]


def iterations_of_probes(conn: sa.Connection, probe_ids: Collection[int]) -> list[IterationRow]:
    """The iterations of some probes in their primary units, in the order measured."""
    query = sa.select(ITERATION).where(ITERATION.c.probe_id.in_(probe_ids), ITERATION.c.is_primary)
    return fetch_all(conn, query.order_by(ITERATION.c.at_s, ITERATION.c.id), IterationRow)


def commits_measured_since(conn: sa.Connection, testbed: str, since_s: float) -> list[ProbeRow]:
    """The requests for commits on a testbed that were answered after a time."""
    query = sa.select(PROBE).where(
        PROBE.c.testbed == testbed,
        PROBE.c.reason.in_(OF_COMMITS),
        PROBE.c.state == ProbeState.DONE,
        PROBE.c.ended_at > since_s,
    )
    return fetch_all(conn, query.order_by(PROBE.c.id), ProbeRow)


def of_control(testbed: str) -> sa.ColumnElement[bool]:
    """The condition for iterations of a testbed's control image.

    They are the lab's witnesses: a thousand boots of one image would be all that noise is learnt
    from, and a search that has it in its range would weigh nothing else.
    """
    asked = sa.select(PROBE.c.id).where(
        PROBE.c.testbed == testbed, PROBE.c.reason == ProbeReason.CONTROL
    )
    return ITERATION.c.probe_id.in_(asked)
