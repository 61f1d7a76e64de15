"""Queries that condense whole histories of series into few rows, for charts and exports."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

import sqlalchemy as sa

from buildbot_bench.core.metric import BUILD, SIZE
from buildbot_bench.plugin.db.commits import images_of_history, line_of
from buildbot_bench.plugin.db.images import in_doubt, of_control
from buildbot_bench.plugin.db.named_values import NamedValue, given, value_called
from buildbot_bench.plugin.db.rows import SeriesName
from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, PROBE, SEARCH
from buildbot_bench.plugin.db.sql import MOST, fetch_all, of_series, since_row


class PointRow(NamedTuple):
    """All iterations of a plain revision in one unit and epoch, together.

    A tuple, for the ten thousand of a long series are made ten times as fast as dataclasses.
    """

    position: int
    label: str
    epoch: str
    unit: str
    boots: int
    mean: float
    low: float
    high: float
    last_at_s: float
    sha: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportRow:
    """One iteration with all that names it."""

    label: str
    sha: str
    position: int
    image: int
    testbed: str
    workload: str
    epoch: str
    iteration: int
    unit: str
    value: float | None
    failure: str | None
    at_s: float
    duration_s: float
    in_doubt: bool


def newest_iterations(conn: sa.Connection, since: int) -> dict[tuple[str, str], int]:
    """By testbed and workload the id of the last iteration, where one after that id is."""
    later = since_row(ITERATION, since, ITERATION.c.testbed, ITERATION.c.workload)
    query = sa.select(later.c.testbed, later.c.workload, sa.func.max(later.c.id)).group_by(
        later.c.testbed, later.c.workload
    )
    return {(testbed, workload): newest for testbed, workload, newest in conn.execute(query)}


def measured_series(conn: sa.Connection, repository: str | None = None) -> list[tuple[str, str]]:
    """Every testbed and workload that ever gave a value, no matter what bench.yml says today.

    Of a repository, if it is named: those that gave one for a kernel of it.
    """
    asked = _names()
    value = sa.select(ITERATION.c.id).where(
        *_of((asked.c.testbed, asked.c.workload)), ITERATION.c.value.is_not(None)
    )
    if repository is not None:
        kernels = sa.select(IMAGE.c.id).where(IMAGE.c.repository == repository)
        value = value.where(ITERATION.c.image_id.in_(kernels))
    query = sa.select(asked).where(value.correlate(asked).exists())
    return [(row.testbed, row.workload) for row in conn.execute(query.order_by(*asked.c))]


def _names() -> sa.CTE:
    """The testbeds and workloads that iterations name, each found behind the one before it.

    There are few of them among millions of rows, which a DISTINCT would all read.
    """
    testbed, workload = ITERATION.c.testbed, ITERATION.c.workload
    beds = sa.select(sa.func.min(testbed).label("testbed")).cte("beds", recursive=True)
    later = sa.select(sa.func.min(testbed)).where(testbed > beds.c.testbed).scalar_subquery()
    beds = beds.union_all(sa.select(later).where(beds.c.testbed.is_not(None)))
    least = sa.select(sa.func.min(workload)).where(testbed == beds.c.testbed).scalar_subquery()
    first = sa.select(beds.c.testbed, least.label("workload"))
    names = first.where(beds.c.testbed.is_not(None)).cte("names", recursive=True)
    behind = sa.and_(testbed == names.c.testbed, workload > names.c.workload)
    following = sa.select(sa.func.min(workload)).where(behind).scalar_subquery()
    return names.union_all(
        sa.select(names.c.testbed, following).where(names.c.workload.is_not(None))
    )


def points(
    conn: sa.Connection, series: SeriesName, branch: str, unit: str | None = None
) -> list[PointRow]:
    """What each revision gave, by position; of one position the epoch measured first is first.

    Without `unit` in the primary one of each iteration; a unit may be the name of a value.
    """
    if named := value_called(conn, testbed=series[0], workload=series[1], name=unit):
        return list(_points_of(conn, named, series, branch))
    of = _by_image(series, unit)
    # PostgreSQL's sum of whole numbers is a decimal one, with which floats do not reckon.
    count = sa.cast(sa.func.sum(of.c.count), sa.Integer)
    last_at_s = sa.func.max(of.c.last_at_s).label("last_at_s")
    query = (
        sa.select(
            IMAGE.c.position,
            sa.func.min(IMAGE.c.label).label("label"),
            of.c.epoch,
            of.c.unit,
            count.label("boots"),
            (sa.func.sum(of.c.total) / count).label("mean"),
            sa.func.min(of.c.low).label("low"),
            sa.func.max(of.c.high).label("high"),
            last_at_s,
            sa.func.min(IMAGE.c.sha).label("sha"),
        )
        .select_from(of.join(IMAGE, IMAGE.c.id == of.c.image_id))
        .where(images_of_history(line_of(conn, branch)))
        .group_by(IMAGE.c.position, of.c.epoch, of.c.unit)
        .order_by(IMAGE.c.position, last_at_s)
    )
    return [PointRow._make(row) for row in conn.execute(query).all()]


def _points_of(
    conn: sa.Connection, named: NamedValue, series: SeriesName, branch: str
) -> Iterator[PointRow]:
    """What each revision gave under a name, as `points` has it."""
    columns = (IMAGE.c.position, IMAGE.c.label, IMAGE.c.sha, ITERATION.c.epoch, ITERATION.c.at_s)
    query = (
        sa.select(*columns, ITERATION.c.failure, named.column)
        .select_from(ITERATION.join(IMAGE, IMAGE.c.id == ITERATION.c.image_id))
        .where(*_believed(series), ITERATION.c.is_primary)
        .where(images_of_history(line_of(conn, branch)))
        .order_by(IMAGE.c.position, ITERATION.c.at_s)
    )
    rows = (row for row in conn.execute(query) if row.packed)
    for position, there in groupby(rows, key=lambda row: row.position):
        epochs: dict[str, list[tuple[sa.Row[Any], float]]] = {}
        for row in there:
            if (value := given(row, named)["value"]) is not None:
                epochs.setdefault(row.epoch, []).append((row, value))
        for epoch, boots in epochs.items():
            values, (last, _) = [value for _, value in boots], boots[-1]
            figures = (len(values), fmean(values), min(values), max(values), last.at_s, last.sha)
            yield PointRow(position, last.label, epoch, named.metric.unit, *figures)


_OF_BUILD: dict[str, sa.ColumnElement[Any]] = {
    SIZE.unit: IMAGE.c.text_bytes + IMAGE.c.data_bytes,
    BUILD.unit: IMAGE.c.build_s,
}


def points_of_builds(conn: sa.Connection, branch: str, unit: str) -> list[PointRow]:
    """What the builds of each revision of a branch cost in SIZE's unit or BUILD's, by position."""
    value = sa.cast(_OF_BUILD[unit], sa.Double)
    query = (
        sa.select(
            IMAGE.c.position,
            sa.func.min(IMAGE.c.label),
            sa.literal(""),
            sa.literal(unit),
            sa.func.count(),
            sa.func.avg(value),
            sa.func.min(value),
            sa.func.max(value),
            sa.func.max(IMAGE.c.changed_at),
            sa.func.min(IMAGE.c.sha),
        )
        .where(images_of_history(line_of(conn, branch)), value.is_not(None))
        .group_by(IMAGE.c.position)
        .order_by(IMAGE.c.position)
    )
    return [PointRow._make(row) for row in conn.execute(query).all()]


def _by_image(series: SeriesName, unit: str | None) -> sa.Subquery:
    """The values of each image, put together before each of them would be joined with it."""
    return (
        sa.select(
            ITERATION.c.image_id,
            ITERATION.c.epoch,
            ITERATION.c.unit,
            sa.func.count().label("count"),
            sa.func.sum(ITERATION.c.value).label("total"),
            sa.func.min(ITERATION.c.value).label("low"),
            sa.func.max(ITERATION.c.value).label("high"),
            sa.func.max(ITERATION.c.at_s).label("last_at_s"),
        )
        .where(
            *_believed(series),
            ITERATION.c.value.is_not(None),
            ITERATION.c.is_primary if unit is None else ITERATION.c.unit == unit,
        )
        .group_by(ITERATION.c.image_id, ITERATION.c.epoch, ITERATION.c.unit)
        .subquery()
    )


def measured_by(conn: sa.Connection, sha: str, repository: str) -> list[tuple[str, str]]:
    """The testbeds and workloads on which a repository's plain revision gave a value, by name."""
    query = (
        sa.select(ITERATION.c.testbed, ITERATION.c.workload)
        .select_from(ITERATION.join(IMAGE, IMAGE.c.id == ITERATION.c.image_id))
        .where(
            IMAGE.c.variant == sha,
            IMAGE.c.repository == repository,
            ITERATION.c.value.is_not(None),
            ITERATION.c.tunables == "",
        )
        .distinct()
        .order_by(ITERATION.c.testbed, ITERATION.c.workload)
    )
    return [(row.testbed, row.workload) for row in conn.execute(query)]


def newest_positions(
    conn: sa.Connection,
    series: SeriesName,
    branch: str,
    most: int,
    *,
    span: tuple[int, int] = (0, MOST),
    like: tuple[str, str] | None = None,
) -> list[int]:
    """The last positions in [first, before) of a branch's commits that have a value, `most` of all.

    The value is in the primary unit of its iteration, or `like` a unit and epoch.
    """
    value = sa.select(ITERATION.c.id).where(
        *_believed(series), ITERATION.c.image_id == IMAGE.c.id, ITERATION.c.value.is_not(None)
    )
    if like is None:
        value = value.where(ITERATION.c.is_primary)
    else:
        value = value.where(ITERATION.c.unit == like[0], ITERATION.c.epoch == like[1])
    query = sa.select(IMAGE.c.position).where(
        IMAGE.c.position >= span[0],
        IMAGE.c.position < span[1],
        images_of_history(line_of(conn, branch)),
        value.exists(),
    )
    newest_first = query.group_by(IMAGE.c.position).order_by(IMAGE.c.position.desc())
    return list(conn.execute(newest_first.limit(most)).scalars())


def export(
    conn: sa.Connection, series: SeriesName, branch: str, *, limit: int, offset: int = 0
) -> list[ExportRow]:
    """The iterations on plain revisions, those that failed or are in doubt too, by position.

    They are the last `limit` of them, but for the `offset` last.
    """
    newest_first = (IMAGE.c.position, IMAGE.c.ordinal, ITERATION.c.at_s, ITERATION.c.id)
    query = (
        sa.select(
            IMAGE.c.label,
            IMAGE.c.sha,
            IMAGE.c.position,
            IMAGE.c.ordinal.label("image"),
            ITERATION.c.testbed,
            ITERATION.c.workload,
            ITERATION.c.epoch,
            ITERATION.c.ordinal.label("iteration"),
            ITERATION.c.unit,
            ITERATION.c.value,
            ITERATION.c.failure,
            ITERATION.c.at_s,
            ITERATION.c.duration_s,
            in_doubt().label("in_doubt"),
        )
        .select_from(ITERATION.join(IMAGE, IMAGE.c.id == ITERATION.c.image_id))
        .where(*_of(series), images_of_history(line_of(conn, branch)))
        .order_by(*(column.desc() for column in newest_first))
        .limit(limit)
        .offset(offset)
    )
    return fetch_all(conn, query, ExportRow)[::-1]


def _of(series: tuple[Any, Any]) -> Sequence[sa.ColumnElement[bool]]:
    """The boots of a series; what was measured with a tunable set is none of it."""
    return (*of_series(ITERATION, series), ITERATION.c.tunables == "")


def _believed(series: SeriesName) -> Sequence[sa.ColumnElement[bool]]:
    """Those of its boots that tell of the series' kernels."""
    return (*_of(series), ~in_doubt(), ~of_control(series[0]))


def last_outcomes(conn: sa.Connection, limit: int) -> list[tuple[str, float, str | None]]:
    """Testbed, end (seconds since the epoch) and failure of the newest iterations of all."""
    query = (
        sa.select(ITERATION.c.testbed, ITERATION.c.at_s, ITERATION.c.failure)
        .where(ITERATION.c.is_primary)
        .order_by(ITERATION.c.id.desc())
        .limit(limit)
    )
    return [(row.testbed, row.at_s, row.failure) for row in conn.execute(query)]


def last_boot_at(conn: sa.Connection, testbed: str) -> float | None:
    """When the last boot of a testbed ended, no matter what it gave."""
    query = sa.select(sa.func.max(ITERATION.c.at_s)).where(ITERATION.c.testbed == testbed)
    return conn.execute(query).scalar()


def facts_on(conn: sa.Connection, testbed: str, workload: str | None = None) -> dict[str, str]:
    """What a testbed reported of the newest image of a workload, or of its last, that gave a value.

    Where nothing gave one it is what it reported nevertheless; empty where nothing ended on it. The
    order is that of an index: pages ask often.
    """
    row = ITERATION.c
    told = (
        sa.select(row.facts)
        .where(row.testbed == testbed, *([] if workload is None else [row.workload == workload]))
        .order_by(*(c.desc() for c in (row.testbed, row.workload, row.tunables, row.image_id)))
        .limit(1)
    )
    facts = conn.execute(told.where(row.value.is_not(None))).scalar()
    return dict(facts or conn.execute(told).scalar() or {})


def outcomes_since(conn: sa.Connection, since_s: float) -> dict[str, tuple[int, int]]:
    """How many iterations ended on each testbed after a time, and how many of them failed."""
    failed = sa.func.sum(sa.case((ITERATION.c.failure.is_not(None), 1), else_=0))
    query = (
        sa.select(ITERATION.c.testbed, sa.func.count(), failed)
        .where(ITERATION.c.is_primary, ITERATION.c.at_s > since_s)
        .group_by(ITERATION.c.testbed)
    )
    return {testbed: (number, int(bad)) for testbed, number, bad in conn.execute(query)}


def counts(conn: sa.Connection) -> dict[str, dict[str, int]]:
    """How many images, probes and searches there are in each state."""
    columns = {"images": IMAGE.c.state, "probes": PROBE.c.state, "searches": SEARCH.c.state}
    return {
        name: {
            str(state): number
            for state, number in conn.execute(sa.select(column, sa.func.count()).group_by(column))
        }
        for name, column in columns.items()
    }
