"""Queries on quarantines and on iterations of control images."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState
from buildbot_bench.plugin.db.finding_rows import QuarantineRow
from buildbot_bench.plugin.db.outbox import has_no_mail
from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow
from buildbot_bench.plugin.db.schema import ITERATION, PROBE, QUARANTINE
from buildbot_bench.plugin.db.sql import ensure, fetch_all
from buildbot_bench.plugin.db.states import ProbeReason


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


def begin_quarantine(
    conn: sa.Connection, /, *, probe_id: int, now: float, **columns: Any
) -> QuarantineRow:
    """The quarantine that a round of the control image began; a known one stays as it is."""
    return ensure(conn, QuarantineRow, {"probe_id": probe_id}, {**columns, "begun_at": now})


def quarantines(
    conn: sa.Connection, testbed: str | None = None, *, open_only: bool = False
) -> list[QuarantineRow]:
    """The quarantines of a testbed or of all, oldest first; those that last, if wanted."""
    query = sa.select(QUARANTINE).order_by(QUARANTINE.c.id)
    if testbed is not None:
        query = query.where(QUARANTINE.c.testbed == testbed)
    if open_only:
        query = query.where(QUARANTINE.c.ended_at.is_(None))
    return fetch_all(conn, query, QuarantineRow)


def untold_quarantines(conn: sa.Connection) -> list[QuarantineRow]:
    """Those that nobody wrote the mail of yet, oldest first."""
    query = sa.select(QUARANTINE).where(has_no_mail("quarantine", QUARANTINE))
    return fetch_all(conn, query.order_by(QUARANTINE.c.id), QuarantineRow)


def doubted(conn: sa.Connection, row: QuarantineRow) -> tuple[int, int]:
    """How many iterations a quarantine puts in doubt, of how many images but control images."""
    query = sa.select(
        sa.func.count(sa.distinct(ITERATION.c.id)), sa.func.count(sa.distinct(ITERATION.c.image_id))
    ).where(
        ITERATION.c.testbed == row.testbed,
        ITERATION.c.epoch == row.epoch,
        ITERATION.c.is_primary,
        ITERATION.c.at_s > row.since_s,
        ITERATION.c.at_s <= (row.ended_at or row.begun_at),
        ~of_control(row.testbed),
    )
    iterations, images = conn.execute(query).one()
    return int(iterations), int(images)


def in_doubt() -> sa.ColumnElement[bool]:
    """The condition for iterations that ended while their testbed was not to be believed.

    One that was still running when the quarantine began is among them: the mark is the span, so
    that no iteration that is recorded late escapes it. In another epoch the lab was another one.
    """
    doubted = sa.select(QUARANTINE.c.id).where(
        QUARANTINE.c.testbed == ITERATION.c.testbed,
        QUARANTINE.c.epoch == ITERATION.c.epoch,
        QUARANTINE.c.since_s < ITERATION.c.at_s,
        sa.or_(QUARANTINE.c.ended_at.is_(None), QUARANTINE.c.ended_at >= ITERATION.c.at_s),
        ~QUARANTINE.c.trusted,
    )
    return doubted.correlate(ITERATION).exists()
