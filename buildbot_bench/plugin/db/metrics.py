"""Queries on the units of workloads: the better direction, and how values repeat."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.core.metric import KNOWN_METRICS, Metric, NoiseClass
from buildbot_bench.plugin.db.schema import METRIC, SEARCH
from buildbot_bench.plugin.db.sql import insert_unless_known


def keep_metric(conn: sa.Connection, *, testbed: str, workload: str, metric: Metric) -> None:
    """Keep what a lab says of a unit of a series; what it says last holds.

    Searches of the series that did not know it yet know it then.
    """
    if metric.unit in KNOWN_METRICS:
        return
    key = {"testbed": testbed, "workload": workload, "unit": metric.unit}
    values = {
        "name": metric.name,
        "higher_is_better": metric.higher_is_better,
        "exact": metric.noise is NoiseClass.EXACT,
    }
    if not insert_unless_known(conn, METRIC, {**key, **values}):
        same = (METRIC.c[name] == value for name, value in key.items())
        conn.execute(sa.update(METRIC).where(*same).values(**values))
    conn.execute(
        sa.update(SEARCH)
        .where(
            SEARCH.c.testbed == testbed,
            SEARCH.c.workload == workload,
            SEARCH.c.unit.in_([metric.unit, ""]),
            SEARCH.c.higher_is_better.is_(None),
        )
        .values(higher_is_better=metric.higher_is_better)
    )


def metric_of(conn: sa.Connection, *, testbed: str, workload: str, unit: str) -> Metric:
    """What a unit of a series means; of one without any statement, more is better."""
    if unit in KNOWN_METRICS:
        return KNOWN_METRICS[unit]
    found = conn.execute(
        sa.select(METRIC).where(
            METRIC.c.testbed == testbed, METRIC.c.workload == workload, METRIC.c.unit == unit
        )
    ).first()
    if found is None:
        return Metric(name=unit, unit=unit)
    return Metric(
        name=found.name,
        unit=unit,
        higher_is_better=found.higher_is_better,
        noise=NoiseClass.EXACT if found.exact else NoiseClass.SAMPLED,
    )


def direction_of(
    conn: sa.Connection, *, testbed: str, workload: str, unit: str = ""
) -> bool | None:
    """Whether more is better, as a lab said of a series; None if it said nothing.

    Without a unit it is of the one that the lab named last.
    """
    query = sa.select(METRIC.c.higher_is_better).where(
        METRIC.c.testbed == testbed, METRIC.c.workload == workload
    )
    if unit:
        query = query.where(METRIC.c.unit == unit)
    return conn.execute(query.order_by(METRIC.c.id.desc()).limit(1)).scalar()
