"""Queries that keep iterations, each once; knows nothing of how they are judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow
from buildbot_bench.plugin.db.schema import ITERATION
from buildbot_bench.plugin.db.sql import MOST, fetch_all, insert_unless_known

# Where sums and quotients of floats leave their range, PostgreSQL ends the query, and SQLite goes
# on with infinities. No lab counts so much, or so little, of anything.
SMALLEST, LARGEST = 1e-100, 1e100
# They stand in an index: PostgreSQL's entries hold 2700 bytes, four of them for any character.
LONGEST_UNIT, LONGEST_EPOCH = 100, 200


def add_iteration(
    conn: sa.Connection,
    *,
    probe: ProbeRow,
    ordinal: int,
    unit: str,
    value: float | None,
    failure: str | None,
    at_s: float,
    duration_s: float,
    log: str = "",
    facts: Mapping[str, Any] | None = None,
) -> bool:
    """Keep one unit of one iteration; False when it was kept before.

    The units of an iteration are added in the lab's order: the first is the primary one. A
    failure before anything was counted has the unit '' and stands for all units. Raises
    InfraError for what is no measurement, for a unit or an epoch that is too long, and when value
    and failure are both absent.
    """
    if value is None and failure is None:
        raise InfraError(f"iteration {ordinal} of {probe.token} has neither value nor failure")
    if not 0 <= ordinal <= MOST:
        raise InfraError(f"{ordinal} is no number of an iteration of {probe.token}")
    _refuse_what_is_no_number(
        f"iteration {ordinal} of {probe.token}", unit, value, at_s, duration_s
    )
    _refuse_what_is_too_long(unit, probe.epoch)
    iteration = {"probe_id": probe.id, "ordinal": ordinal}
    return insert_unless_known(
        conn,
        ITERATION,
        {
            **iteration,
            "image_id": probe.image_id,
            "testbed": probe.testbed,
            "workload": probe.workload,
            "epoch": probe.epoch,
            "unit": unit,
            "is_primary": not _has_unit(conn, **iteration),
            "value": value,
            "failure": failure,
            "at_s": at_s,
            "duration_s": duration_s,
            "log": log,
            "facts": dict(facts or {}),
            "tunables": probe.tunables,
        },
    )


def _refuse_what_is_no_number(
    what: str, unit: str, value: float | None, at_s: float, duration_s: float
) -> None:
    """Raise InfraError for a value of which many may have no sum or square, and for no time."""
    if value and not SMALLEST <= abs(value) <= LARGEST:
        raise InfraError(f"{what}: {value} {unit:.40} is no measurement")
    if not (math.isfinite(at_s) and math.isfinite(duration_s)):
        raise InfraError(f"{what}: {duration_s} s until {at_s} is no time")


def _refuse_what_is_too_long(unit: str, epoch: str) -> None:
    for name, text, most in (("unit", unit, LONGEST_UNIT), ("epoch", epoch, LONGEST_EPOCH)):
        if len(text) > most:
            raise InfraError(
                f"the {name} {text[:40]!r}… is longer than {most} characters",
                hint="shorten it in the lab's testbeds.toml, or in the driver that reports it",
            )


def _has_unit(conn: sa.Connection, *, probe_id: int, ordinal: int) -> bool:
    query = sa.select(ITERATION.c.id).where(
        ITERATION.c.probe_id == probe_id, ITERATION.c.ordinal == ordinal
    )
    return conn.execute(query.limit(1)).first() is not None


def iterations_of_probe(conn: sa.Connection, probe_id: int) -> list[IterationRow]:
    """The iterations of a probe in the lab's order, the primary unit of each first."""
    query = sa.select(ITERATION).where(ITERATION.c.probe_id == probe_id)
    return fetch_all(conn, query.order_by(ITERATION.c.ordinal, ITERATION.c.id), IterationRow)
