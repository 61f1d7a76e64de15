"""Queries of iterations, their metrics, samples made of them, and old logs of boots."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.metric import KNOWN_METRICS, Metric, NamedRuns, NoiseClass, RunTimes
from buildbot_bench.core.sample import PPS, Iteration, Sample
from buildbot_bench.plugin.db.columns import OPEN_PROBES
from buildbot_bench.plugin.db.commits import images_of_history, line_of
from buildbot_bench.plugin.db.images import in_doubt, in_span, of_control
from buildbot_bench.plugin.db.named_values import (
    NamedValue,
    given,
    named_runs,
    value_called,
    with_values,
)
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow, SeriesName
from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, METRIC, PROBE, SEARCH
from buildbot_bench.plugin.db.sql import MOST, fetch_all, insert_unless_known, of_series


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


def metric_of(conn: sa.Connection, series: SeriesName, unit: str) -> Metric:
    """What a unit or the name of a value means; of one without any statement, more is better."""
    if unit in KNOWN_METRICS:
        return KNOWN_METRICS[unit]
    found = conn.execute(
        sa.select(METRIC).where(*of_series(METRIC, series), METRIC.c.unit == unit)
    ).first()
    if found is None:
        named = value_called(conn, testbed=series[0], workload=series[1], name=unit)
        return named.metric if named else Metric(name=unit, unit=unit)
    return Metric(
        name=found.name,
        unit=unit,
        higher_is_better=found.higher_is_better,
        noise=NoiseClass.EXACT if found.exact else NoiseClass.SAMPLED,
    )


def direction_of(conn: sa.Connection, series: SeriesName, unit: str = "") -> bool | None:
    """Whether more is better, as a lab said of a series; None if it said nothing.

    Without a unit it is of the one that the lab named last.
    """
    query = sa.select(METRIC.c.higher_is_better).where(*of_series(METRIC, series))
    if unit:
        query = query.where(METRIC.c.unit == unit)
    return conn.execute(query.order_by(METRIC.c.id.desc()).limit(1)).scalar()


# Where sums and quotients of floats leave their range, PostgreSQL ends the query, and SQLite goes
# on with infinities. No lab counts so much, or so little, of anything.
SMALLEST, LARGEST = 1e-100, 1e100
# They stand in an index: PostgreSQL's entries hold 2700 bytes, four of them for any character.
LONGEST_UNIT, LONGEST_EPOCH = 100, 200


# What an iteration repeats of its request.
_OF_PROBE = ("image_id", "testbed", "workload", "epoch", "tunables")


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
    times: RunTimes | None = None,
) -> bool:
    """Keep one unit of one iteration; False when it was kept before.

    The units of an iteration are added in the lab's order: the first is the primary one. A
    failure before anything was counted has the unit '' and stands for all units.
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
    of_probe = {name: getattr(probe, name) for name in _OF_PROBE}
    measured = {"unit": unit, "value": value, "failure": failure, "at_s": at_s, "log": log}
    measured |= {"duration_s": duration_s, "is_primary": not _has_unit(conn, **iteration)}
    values = {**iteration, **of_probe, **measured, "facts": dict(facts or {})}
    values["times"] = times and times.as_json()
    return insert_unless_known(conn, ITERATION, values)


def _refuse_what_is_no_number(
    what: str, unit: str, value: float | None, at_s: float, duration_s: float
) -> None:
    """Refuse what has no place in a sample."""
    if value and not SMALLEST <= abs(value) <= LARGEST:
        raise InfraError(f"{what}: {value} {unit:.40} is no measurement")
    if not (math.isfinite(at_s) and math.isfinite(duration_s)):
        raise InfraError(f"{what}: {duration_s} s until {at_s} is no time")


def _refuse_what_is_too_long(unit: str, epoch: str) -> None:
    for name, text, most in (("unit", unit, LONGEST_UNIT), ("epoch", epoch, LONGEST_EPOCH)):
        if len(text) > most:
            raise InfraError(
                f"the {name} {quoted(text, columns=40)}… is longer than {most} characters",
                hint="shorten it in the lab's testbeds.toml, or in the driver that reports it",
            )


def _has_unit(conn: sa.Connection, *, probe_id: int, ordinal: int) -> bool:
    query = sa.select(ITERATION.c.id).where(
        ITERATION.c.probe_id == probe_id, ITERATION.c.ordinal == ordinal
    )
    return conn.execute(query.limit(1)).first() is not None


def iterations_of_probe(
    conn: sa.Connection, probe_id: int, name: str = ""
) -> Sequence[IterationRow]:
    """The iterations of a probe in the lab's order, the primary unit of each first.

    Under the `name` of a value, if that is one, those that have it in place of their own.
    """
    query = sa.select(ITERATION).where(ITERATION.c.probe_id == probe_id)
    rows = fetch_all(conn, query.order_by(ITERATION.c.ordinal, ITERATION.c.id), IterationRow)
    return with_values(conn, rows, name) if name else rows


_READ = (
    sa.select(
        *(IMAGE.c.id, IMAGE.c.label, IMAGE.c.position, IMAGE.c.ordinal),
        *(ITERATION.c[name] for name in ("epoch", "unit", "value", "at_s", "failure")),
    )
    .select_from(ITERATION.join(IMAGE, IMAGE.c.id == ITERATION.c.image_id))
    .order_by(IMAGE.c.position, IMAGE.c.ordinal, IMAGE.c.id, ITERATION.c.at_s, ITERATION.c.id)
)


def samples(
    conn: sa.Connection,
    series: SeriesName,
    span: tuple[int, int],
    *,
    unit: str | None = None,
    epoch: str | None = None,
    branch: str | None = None,
    history_of: str | None = None,
) -> list[Sample]:
    """The samples of the plain revisions of a span, by position and image.

    With `branch` those of commits that came to its line; with `history_of` those from before the
    farm was set up, too.

    One for each image, epoch and unit; without `unit` the primary one of each iteration. A unit
    may be the name of a value. An image whose iterations all failed has a sample without values.
    """
    chosen = in_span(conn, *span, branch)
    if history_of is not None:
        chosen = sa.and_(chosen, images_of_history(line_of(conn, history_of)))
    return _samples(conn, chosen, series, unit=unit, epoch=epoch)


def samples_of_images(
    conn: sa.Connection,
    series: SeriesName,
    image_ids: Collection[int],
    *,
    unit: str | None = None,
    tunables: str = "",
) -> list[Sample]:
    """The samples of certain images, patched variants among them, as `samples` gives them.

    Those of boots with exactly these tunables.
    """
    chosen = IMAGE.c.id.in_(image_ids)
    return _samples(conn, chosen, series, unit=unit, tunables=tunables)


def _of_images(chosen: sa.ColumnElement[bool], series: SeriesName, tunables: str) -> sa.Select[Any]:
    # The images are chosen apart from the join: SQLite, which keeps no statistics, would else
    # read all that was ever measured on the testbed.
    return _READ.where(
        *of_series(ITERATION, series),
        # What was measured with a tunable set says nothing of the kernel as it is.
        ITERATION.c.tunables == tunables,
        ITERATION.c.image_id.in_(sa.select(IMAGE.c.id).where(chosen)),
        ~in_doubt(),
        ~of_control(series[0]),
    )


def _samples(
    conn: sa.Connection,
    chosen: sa.ColumnElement[bool],
    series: SeriesName,
    *,
    unit: str | None,
    epoch: str | None = None,
    tunables: str = "",
) -> list[Sample]:
    query = _of_images(chosen, series, tunables)
    if epoch is not None:
        query = query.where(ITERATION.c.epoch == epoch)
    if named := value_called(conn, testbed=series[0], workload=series[1], name=unit):
        return _named_samples(conn, query, named, series)
    is_meant = ITERATION.c.is_primary if unit is None else ITERATION.c.unit.in_([unit, ""])
    rows = conn.execute(query.where(is_meant)).all()
    units = {} if all(row.unit for row in rows) else _units(rows, unit)
    groups: dict[tuple[int, str, str], tuple[sa.Row[Any], list[Iteration]]] = {}
    for row in rows:  # unpacked: to ask a row for its columns by name takes longer than all else
        number, *_, epoch, own, value, at_s, failure = row
        its = groups.setdefault((number, epoch, own or units[number]), (row, []))[1]
        its.append(Iteration(value=value, at_s=at_s, failure=failure))
    metrics = {name: metric_of(conn, series, name) for name in {key[-1] for key in groups}}
    return [_sample(metrics[key[-1]], *group, series) for key, group in groups.items()]


def runs_of_values(
    conn: sa.Connection,
    *,
    testbed: str,
    workload: str,
    first_position: int,
    last_position: int,
    branch: str,
    limit: int,
) -> NamedRuns | None:
    """The last runs of a span with all their named values, by position, image and time."""
    chosen = in_span(conn, first_position, last_position, branch)
    query = _of_images(chosen, (testbed, workload), "").where(ITERATION.c.is_primary)
    newest = (column.desc() for column in (IMAGE.c.position, IMAGE.c.ordinal, ITERATION.c.at_s))
    last = query.with_only_columns(ITERATION.c.id).order_by(None).order_by(*newest).limit(limit)
    within = _READ.where(ITERATION.c.id.in_(last.scalar_subquery()))
    return named_runs(conn, testbed=testbed, workload=workload, query=within)


def _named_samples(
    conn: sa.Connection, query: sa.Select[Any], named: NamedValue, series: SeriesName
) -> list[Sample]:
    """What the iterations of a query gave under a name; one that failed has failed in it, too."""
    its = query.add_columns(named.column).where(ITERATION.c.is_primary)
    rows = conn.execute(its).all()
    groups: dict[tuple[int, str], list[sa.Row[Any]]] = {}
    for row in rows:
        groups.setdefault((row.id, row.epoch), []).append(row)
    return [
        _sample(
            named.metric,
            group[0],
            [Iteration(**given(row, named), at_s=row.at_s) for row in group],
            series,
        )
        for group in groups.values()
    ]


def _units(rows: Sequence[sa.Row[Any]], asked: str | None) -> dict[int, str]:
    """For each image the unit in which an iteration that counted nothing would have counted."""
    counted = [row for row in rows if row.unit]
    usual = asked or (counted[0].unit if counted else PPS.unit)
    return {row.id: usual for row in rows} | {row.id: row.unit for row in reversed(counted)}


def _sample(
    metric: Metric, first: sa.Row[Any], iterations: Sequence[Iteration], series: SeriesName
) -> Sample:
    return Sample(
        label=first.label,
        position=first.position,
        image=first.ordinal,
        testbed=series[0],
        workload=series[1],
        epoch=first.epoch,
        metric=metric,
        iterations=tuple(iterations),
    )


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
