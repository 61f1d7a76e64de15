"""The tables come to be, once, whoever starts first and however often."""

import multiprocessing
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.db import sql
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.sql import VERSION_TABLE, take_write_lock, upgrade
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.db.watch import watched
from tests.databases import COUNTS
from tests.fakes.database import DirectPool
from tests.fakes.second_revision import second_revision
from tests.stored_tables import CHANGED, STORED, restore

MASTERS = 3


def is_current(engine: sa.Engine) -> bool:
    with engine.connect() as conn:
        return sql.is_current(conn)


async def test_an_empty_database_is_brought_up_to_date(empty):
    store = BenchStore(DirectPool(empty))
    assert not is_current(empty)
    await store.upgrade()
    assert is_current(empty)


async def test_asking_whether_tables_are_current_creates_none(empty):
    is_current(empty)
    assert sa.inspect(empty).get_table_names() == []


async def test_upgrading_twice_changes_nothing(store, engine):
    await store.add_commits("main", [])
    await store.upgrade()
    assert is_current(engine)


def test_the_migrations_lead_to_the_schema(engine):
    with engine.connect() as conn:
        context = MigrationContext.configure(
            conn, opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, METADATA) == []


async def test_buildbots_own_version_is_left_alone(empty):
    with empty.begin() as conn:
        conn.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        conn.execute(sa.text("INSERT INTO alembic_version VALUES ('buildbot')"))
    await BenchStore(DirectPool(empty)).upgrade()
    with empty.connect() as conn:
        assert conn.execute(sa.text("SELECT version_num FROM alembic_version")).all() == [
            ("buildbot",)
        ]


async def test_a_database_of_a_newer_release_is_refused(empty):
    store = BenchStore(DirectPool(empty))
    await store.upgrade()
    with empty.begin() as conn:
        conn.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    assert not is_current(empty)
    with pytest.raises(UsageError, match=r"9999.*newer buildbot-bench"):
        await store.upgrade()


def test_another_database_is_refused_by_name():
    with pytest.raises(UsageError, match=r"mysql.*postgresql\+psycopg"):
        upgrade(SimpleNamespace(dialect=SimpleNamespace(name="mysql")))


async def test_a_failed_upgrade_leaves_nothing_behind(empty):
    with empty.begin() as conn:
        conn.execute(sa.text("CREATE TABLE bench_report (in_the_way INTEGER)"))
    with pytest.raises(sa.exc.DBAPIError):
        await BenchStore(DirectPool(empty)).upgrade()
    assert sa.inspect(empty).get_table_names() == ["bench_report"]


def _start_master(url: str, together, outcomes) -> None:
    engine = sa.create_engine(url)
    together.wait()
    try:
        with engine.begin() as conn:
            take_write_lock(conn)
            upgrade(conn)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test shall show it
        outcomes.put(repr(error))
    else:
        outcomes.put("upgraded")


def test_masters_that_start_at_once_do_not_collide(empty):
    spawn = multiprocessing.get_context("spawn")
    together, outcomes = spawn.Barrier(MASTERS), spawn.Queue()
    url = empty.url.render_as_string(hide_password=False)
    masters = [
        spawn.Process(target=_start_master, args=(url, together, outcomes)) for _ in range(MASTERS)
    ]
    for master in masters:
        master.start()
    assert [outcomes.get(timeout=120) for _ in masters] == ["upgraded"] * MASTERS
    for master in masters:
        master.join()


def test_no_row_vanishes_with_another():
    keys = [key for table in METADATA.tables.values() for key in table.foreign_keys]
    assert keys
    assert {key.ondelete for key in keys} == {None}


def everything(engine: sa.Engine) -> dict[str, list[dict[str, object]]]:
    """All rows, as the product's own columns read them."""
    with engine.connect() as conn:
        return {
            one.name: [dict(row) for row in conn.execute(sa.select(one).order_by("id")).mappings()]
            for one in METADATA.sorted_tables
            if one.name != COUNTS
        }


@pytest.mark.parametrize("file", sorted(STORED.glob("*.sql.gz")), ids=lambda file: file.name)
async def test_what_a_release_stored_outlives_the_next_revision(file, empty, tmp_path):
    restore(file, empty, tmp_path / "stored.sqlite")
    store = BenchStore(DirectPool(empty))
    await store.upgrade()
    with empty.connect() as conn:
        context = MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, METADATA) == [], CHANGED
    before = everything(empty)
    assert [name for name, rows in before.items() if not rows] == []
    with second_revision(tmp_path / "versions"):
        await store.upgrade()
        assert is_current(empty)
        assert everything(empty) == before
        with empty.connect() as conn:
            assert watched(conn) >= set(METADATA.tables) - {COUNTS, "bench_lease"}
        commit = NewCommit(sha="a" * 40, position=50, subject="The first one since")
        await store.add_commits("main", [commit])
    with empty.connect() as conn:
        seen = conn.execute(sa.text("SELECT seen FROM bench_commit")).scalars().all()
    assert seen == [7] * (len(before["bench_commit"]) + 1)
    with pytest.raises(UsageError, match=r"second.*newer buildbot-bench"):
        await store.upgrade()


@pytest.mark.parametrize("version", ["0001", "0029", "first_0123456789ab"])
async def test_a_farm_from_before_the_first_release_is_told_how_to_move(version, empty):
    store = BenchStore(DirectPool(empty))
    await store.upgrade()
    with empty.begin() as conn:
        conn.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '{version}'"))
    with pytest.raises(UsageError, match=rf"{version}.*before the first release.*CSV.*upgrade.md"):
        await store.upgrade()
