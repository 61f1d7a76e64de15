"""Queries that keep iterations, each once; knows nothing of how they are judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow
from buildbot_bench.plugin.db.schema import ITERATION
from buildbot_bench.plugin.db.sql import fetch_all, insert_unless_known


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
    InfraError for a value that is no finite number, or when value and failure are both absent.
    """
    if value is None and failure is None:
        raise InfraError(f"iteration {ordinal} of {probe.token} has neither value nor failure")
    if value is not None and not math.isfinite(value):
        raise InfraError(f"iteration {ordinal} of {probe.token}: {value} {unit} is no measurement")
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


def _has_unit(conn: sa.Connection, *, probe_id: int, ordinal: int) -> bool:
    query = sa.select(ITERATION.c.id).where(
        ITERATION.c.probe_id == probe_id, ITERATION.c.ordinal == ordinal
    )
    return conn.execute(query.limit(1)).first() is not None


def iterations_of_probe(conn: sa.Connection, probe_id: int) -> list[IterationRow]:
    """The iterations of a probe in the lab's order, the primary unit of each first."""
    query = sa.select(ITERATION).where(ITERATION.c.probe_id == probe_id)
    return fetch_all(conn, query.order_by(ITERATION.c.ordinal, ITERATION.c.id), IterationRow)
