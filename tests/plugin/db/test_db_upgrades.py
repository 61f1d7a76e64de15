"""The farms that earlier releases left are upgraded without losing a row or a value."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.sql import VERSION_TABLE
from tests.fakes.earlier_farms import FARMS, all_rows, earlier_farm, fill, upgrade_to

TABLES = sorted(FARMS.glob("tables_*.sql"))
# Each variant of a comparison has a row since 0019.
_MOVED = {
    ("bench_ab_test", f"{side}_{what}")
    for side in ("base", "new")
    for what in ("image_id", "tunables", "label")
}
# The names of requests, in which a side has its place since 0019; the branch of what is measured,
# which migration 0020 finds out.
_SAID_ANEW = {
    ("bench_probe", "key"),
    ("bench_profile", "key"),
    ("bench_image", "branch"),
    ("bench_judgement", "branch"),
}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_an_earlier_farm_keeps_every_row_and_value(path, empty, tmp_path):
    release = path.stem.removeprefix("tables_")
    before = all_rows(earlier_farm(path.name, tmp_path / "earlier.sqlite"))
    assert sum(map(len, before.values())) > len(before)
    upgrade_to(empty, release)
    fill(empty, before)
    upgrade_to(empty, "head")
    after = all_rows(empty)
    for table, rows in before.items():
        assert [row["id"] for row in after[table]] == [row["id"] for row in rows], table
        for old, new in zip(rows, after[table], strict=True):
            columns = {name for name in old if (table, name) not in _MOVED | _SAID_ANEW}
            assert {name: new[name] for name in columns} == {name: old[name] for name in columns}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_an_earlier_farms_file_is_upgraded_where_it_is(path, tmp_path):
    engine = earlier_farm(path.name, tmp_path / "earlier.sqlite")
    upgrade_to(engine, "head")
    with engine.connect() as conn:
        assert conn.execute(sa.text("PRAGMA foreign_key_check")).all() == []
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        assert compare_metadata(MigrationContext.configure(conn, opts=options), METADATA) == []
