"""Queries of the named values of runs: those of an iteration lie together in one row.

A list of names, with units and directions, is kept once for all iterations of a series that gave
it. One value of many iterations is read without the others.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import sqlalchemy as sa

from buildbot_bench.core.metric import (
    KNOWN_METRICS,
    WIDTH,
    Metric,
    NamedRun,
    NamedRuns,
    pack,
    pack_names,
    unpack,
    unpack_names,
)
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow
from buildbot_bench.plugin.db.schema import ITERATION, VALUE_NAMES, VALUES
from buildbot_bench.plugin.db.sql import insert_unless_known

# Lists of names of one series. Chosen: a benchmark that comes or goes every week makes 50 a year.
_MOST_LISTS = 1000


def add_values(
    conn: sa.Connection, *, probe: ProbeRow, ordinal: int, named: Mapping[Metric, float]
) -> bool:
    """Keep the named values of an iteration that is kept; False when they were before."""
    digest, body = pack_names(named)
    key = {"testbed": probe.testbed, "workload": probe.workload, "digest": digest}
    insert_unless_known(conn, VALUE_NAMES, {**key, "body": body})
    same = (VALUE_NAMES.c[name] == value for name, value in key.items())
    own = (ITERATION.c.probe_id == probe.id, ITERATION.c.ordinal == ordinal)
    iteration = sa.select(ITERATION.c.id).where(*own, ITERATION.c.is_primary)
    names = sa.select(VALUE_NAMES.c.id).where(*same)
    ids = {
        "iteration_id": conn.execute(iteration).scalar_one(),
        "names_id": conn.execute(names).scalar_one(),
    }
    return insert_unless_known(conn, VALUES, {**ids, "body": pack(list(named.values()))})


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedValue:
    """A value by its name: what it means, and by list of names where in a row it stands."""

    metric: Metric
    places: Mapping[int, int]

    @property
    def column(self) -> sa.Label[bytes]:
        """The packed value of an iteration; NULL where it has none, or none of that name.

        It is looked up for each: PostgreSQL, which takes a series of one commit in ten thousand
        for one row, would join by reading all values for each iteration.
        """
        starts = {names: place * WIDTH + 1 for names, place in self.places.items()}
        start = sa.case(starts, value=VALUES.c.names_id)
        packed = sa.func.substr(VALUES.c.body, start, WIDTH, type_=sa.LargeBinary())
        own = sa.select(packed).where(VALUES.c.iteration_id == ITERATION.c.id)
        return own.correlate(ITERATION).scalar_subquery().label("packed")


def value_called(
    conn: sa.Connection, *, testbed: str, workload: str, name: str | None
) -> NamedValue | None:
    """Return what a series has under a name; None if no run gave it, or it is a unit of drivers'.

    Where unit or direction was another once, those that came last count.
    """
    if not name or name in KNOWN_METRICS:
        return None
    places: dict[int, int] = {}
    metric: Metric | None = None
    for number, metrics in _lists(conn, testbed, workload):
        for place, one in enumerate(metrics):
            if one.name == name and metric in {None, one}:
                metric = one
                places[number] = place
    if metric is None:
        return None
    return NamedValue(metric=replace(metric, name=f"value {metric.name}"), places=places)


def value_names(conn: sa.Connection, testbed: str, workload: str) -> list[str]:
    """Return the names of the values that a series has, those of the newest list first."""
    lists = _lists(conn, testbed, workload)
    return list(dict.fromkeys(one.name for _, metrics in lists for one in metrics))


def _lists(
    conn: sa.Connection, testbed: str, workload: str
) -> Iterator[tuple[int, tuple[Metric, ...]]]:
    """The lists of names of a series by their numbers, the newest first."""
    query = sa.select(VALUE_NAMES.c.id, VALUE_NAMES.c.body).where(
        VALUE_NAMES.c.testbed == testbed, VALUE_NAMES.c.workload == workload
    )
    newest = query.order_by(VALUE_NAMES.c.id.desc()).limit(_MOST_LISTS)
    for number, body in conn.execute(newest).all():
        yield number, unpack_names(body)


def suites(conn: sa.Connection) -> set[tuple[str, str]]:
    """Return the testbeds and workloads whose runs gave named values."""
    query = sa.select(VALUE_NAMES.c.testbed, VALUE_NAMES.c.workload).distinct()
    return {(row.testbed, row.workload) for row in conn.execute(query)}


def named_runs(
    conn: sa.Connection, *, testbed: str, workload: str, query: sa.Select[Any]
) -> NamedRuns | None:
    """Return the named values of the iterations of a query, in its order; None without any.

    They are those of the last iteration's list, other than units of drivers.
    """
    its = query.add_columns(VALUES.c.names_id, VALUES.c.body)
    rows = conn.execute(its.join(VALUES, VALUES.c.iteration_id == ITERATION.c.id)).all()
    if not rows:
        return None
    numbers = {row.names_id for row in rows}
    lists = {n: its for n, its in _lists(conn, testbed, workload) if n in numbers}
    metrics = tuple(one for one in lists[rows[-1].names_id] if one.name not in KNOWN_METRICS)
    return NamedRuns(
        testbed=testbed,
        workload=workload,
        metrics=metrics,
        runs=tuple(
            NamedRun(
                label=row.label,
                position=row.position,
                image=row.ordinal,
                epoch=row.epoch,
                at_s=row.at_s,
                values=_taken(row.body, lists[row.names_id], metrics),
            )
            for row in rows
        ),
    )


def _taken(body: bytes, given: Sequence[Metric], wanted: Sequence[Metric]) -> Sequence[float]:
    """The packed values of a list in another's order; NaN where it has none."""
    values = unpack(body)
    if given == wanted:
        return values
    found = dict(zip(given, values, strict=True))
    return tuple(found.get(one, math.nan) for one in wanted)


class Given(TypedDict):
    """What an iteration gave under a name, or why that is nothing."""

    value: float | None
    failure: str | None


def given(row: Any, named: NamedValue) -> Given:
    """Return what a row with `packed` gave; a value that is not above 0 is none."""
    (value,) = unpack(row.packed) if row.packed else (0.0,)
    if row.failure is None and 0 < value < math.inf:
        return Given(value=value, failure=None)
    return Given(value=None, failure=row.failure or f"it gives no {named.metric.name} above 0")


def with_values(
    conn: sa.Connection, rows: Sequence[IterationRow], name: str
) -> Sequence[IterationRow]:
    """Return primary iterations of a probe with the value of that name in place of their own."""
    series = next(({"testbed": one.testbed, "workload": one.workload} for one in rows), None)
    named = value_called(conn, **series, name=name) if series else None
    if named is None:
        return rows
    query = sa.select(ITERATION.c.id, ITERATION.c.failure, named.column).where(
        ITERATION.c.probe_id == rows[0].probe_id, ITERATION.c.is_primary
    )
    found = {row.id: given(row, named) for row in conn.execute(query)}
    unit = named.metric.unit
    return [replace(row, unit=unit, **found[row.id]) for row in rows if row.id in found]
