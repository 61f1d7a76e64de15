"""The tables that a statement reads are told by its expressions, or nothing is told."""

import pytest
import sqlalchemy as sa

from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, JUDGEMENT, MARK, PROBE, SEARCH, UNDONE
from buildbot_bench.plugin.db.watch import tables_read

_new = sa.select(PROBE.c.image_id).where(PROBE.c.state == "new")
_other = PROBE.alias()
_latest = sa.select(sa.func.max(ITERATION.c.id).label("newest")).subquery()
_marked = sa.select(MARK.c.search_id).cte("marked")
_beds = sa.select(sa.func.min(ITERATION.c.testbed).label("bed")).cte("beds", recursive=True)
_beds = _beds.union_all(
    sa.select(
        sa.select(sa.func.min(PROBE.c.testbed))
        .where(PROBE.c.testbed > _beds.c.bed)
        .scalar_subquery()
    )
)

TOLD = {
    "a table": (sa.select(IMAGE), {IMAGE}),
    "a column": (sa.select(IMAGE.c.id), {IMAGE}),
    "a count": (sa.select(sa.func.count()).select_from(IMAGE), {IMAGE}),
    "join": (sa.select(PROBE.c.id).join(IMAGE, IMAGE.c.id == PROBE.c.image_id), {PROBE, IMAGE}),
    "outer join": (sa.select(PROBE).outerjoin(SEARCH, SEARCH.c.id == PROBE.c.id), {PROBE, SEARCH}),
    "select from a join": (
        sa.select(sa.func.count()).select_from(PROBE.join(IMAGE, IMAGE.c.id == PROBE.c.image_id)),
        {PROBE, IMAGE},
    ),
    "by a condition alone": (sa.select(IMAGE.c.id).where(IMAGE.c.id == MARK.c.id), {IMAGE, MARK}),
    "in a subquery": (sa.select(IMAGE).where(IMAGE.c.id.in_(_new)), {IMAGE, PROBE}),
    "exists": (
        sa.select(IMAGE).where(sa.exists().where(_other.c.image_id == IMAGE.c.id)),
        {IMAGE, PROBE},
    ),
    "not exists": (sa.select(IMAGE).where(~_new.exists()), {IMAGE, PROBE}),
    "aliases of one table": (
        sa.select(PROBE.c.id).join(_other, _other.c.id > PROBE.c.id),
        {PROBE},
    ),
    "a subquery": (sa.select(_latest.c.newest), {ITERATION}),
    "a subquery joined": (
        sa.select(IMAGE.c.id).join(_latest, _latest.c.newest == IMAGE.c.id),
        {IMAGE, ITERATION},
    ),
    "a CTE": (sa.select(SEARCH).where(SEARCH.c.id.in_(sa.select(_marked))), {SEARCH, MARK}),
    "a recursive CTE": (sa.select(_beds.c.bed), {ITERATION, PROBE}),
    "a scalar subquery as a column": (
        sa.select(IMAGE.c.id, sa.select(sa.func.max(MARK.c.id)).scalar_subquery()),
        {IMAGE, MARK},
    ),
    "a union": (sa.union(sa.select(IMAGE.c.id), sa.select(MARK.c.id)), {IMAGE, MARK}),
    "a union within": (
        sa.select(IMAGE).where(IMAGE.c.id.in_(sa.union(_new, sa.select(MARK.c.id)))),
        {IMAGE, PROBE, MARK},
    ),
    "in an order": (
        sa.select(IMAGE.c.id).order_by(sa.select(sa.func.max(MARK.c.id)).scalar_subquery()),
        {IMAGE, MARK},
    ),
    "in a group's condition": (
        sa.select(PROBE.c.testbed)
        .group_by(PROBE.c.testbed)
        .having(sa.func.count() > sa.select(sa.func.count(JUDGEMENT.c.id)).scalar_subquery()),
        {PROBE, JUDGEMENT},
    ),
    "in a case": (
        sa.select(sa.case((IMAGE.c.id.in_(_new), 1), else_=0)).select_from(IMAGE),
        {IMAGE, PROBE},
    ),
    "a condition in SQL": (sa.select(PROBE.c.id).where(sa.text(UNDONE)), {PROBE}),
}
UNTOLD = {
    "SQL": sa.text("SELECT * FROM bench_image"),
    "SQL with columns": sa.select(
        sa.text("SELECT id FROM bench_mark").columns(sa.column("id")).subquery()
    ),
    "a query in a condition": sa.select(IMAGE).where(sa.text("id IN (SELECT id FROM bench_mark)")),
    "a function in a condition": sa.select(IMAGE).where(sa.text("built_at < now()")),
    "a clock": sa.select(IMAGE).where(IMAGE.c.id < sa.func.now()),
    "today": sa.select(sa.func.current_timestamp(), IMAGE.c.id),
    "chance": sa.select(IMAGE).order_by(sa.func.random()),
    "a function of somebody's": sa.select(sa.func.newest_mark(), IMAGE.c.id),
    "a function that gives rows": sa.select(sa.func.json_each("[1]").table_valued("value")),
    "literal SQL": sa.select(sa.literal_column("(SELECT max(id) FROM bench_mark)"), IMAGE.c.id),
    "a sample": sa.select(IMAGE.tablesample(10)),
    "lateral": sa.select(IMAGE.c.id, sa.select(MARK.c.id).lateral().c.id),
    "a table by its name alone": sa.select(sa.table("bench_image", sa.column("id"))),
    "an update": sa.update(IMAGE).values(label="x"),
    "an update that tells": sa.select(
        sa.update(IMAGE).values(label="x").returning(IMAGE.c.id).cte("changed")
    ),
    "nothing": None,
}


@pytest.mark.parametrize("name", TOLD)
def test_all_tables_are_told(name):
    statement, tables = TOLD[name]
    assert tables_read(statement) == tables


@pytest.mark.parametrize("name", UNTOLD)
def test_where_there_may_be_others_none_are(name):
    assert tables_read(UNTOLD[name]) is None
