"""A store that remembers reads nothing twice that did not change, and misses no change."""

import pytest
import sqlalchemy as sa

from buildbot_bench.plugin.db import pooled, sql, watch
from buildbot_bench.plugin.db.schema import CHANGE, IMAGE, METADATA
from buildbot_bench.plugin.db.sql import take_write_lock, upgrade
from buildbot_bench.plugin.db.store import BenchStore
from tests.fakes.database import DirectPool


class CountingPool(DirectPool):
    """Counts what it is asked."""

    asked = 0

    async def do(self, function):
        self.asked += 1
        return await super().do(function)


@pytest.fixture
def pool(engine) -> CountingPool:
    return CountingPool(engine)


@pytest.fixture
def remembering(pool, engine) -> BenchStore:
    with engine.begin() as conn:
        take_write_lock(conn)
        upgrade(conn)  # the fixture's tables are empty, the one that counts changes as well
    return BenchStore(pool).remembering()


async def test_what_did_not_change_is_read_once(remembering, pool, an_image):
    image = await an_image()
    assert await remembering.images() == [image]
    assert await remembering.probes() == []
    remembering.look_again()
    asked = pool.asked
    assert await remembering.images() == [image]
    assert await remembering.probes() == []
    assert pool.asked == asked + 1  # whether anything changed


async def test_there_is_an_end_to_what_is_kept_in_all(remembering, pool, an_image, monkeypatch):
    monkeypatch.setattr(pooled, "MOST_IN_ALL", 1)
    image = await an_image()
    assert await remembering.images() == [image]
    assert await remembering.image(image.id) == image
    asked = pool.asked
    assert await remembering.images() == [image]
    assert pool.asked == asked
    assert await remembering.image(image.id) == image
    assert pool.asked == asked + 1
    for _ in range(2):
        remembering.forget_unused()
    assert await remembering.image(image.id) == image
    asked = pool.asked
    assert await remembering.image(image.id) == image
    assert pool.asked == asked


async def test_a_change_by_another_master_is_seen_at_the_next_look(remembering, an_image):
    first = await an_image(7)
    assert await remembering.images() == [first]
    second = await an_image(8)
    assert await remembering.images() == [first]
    remembering.look_again()
    assert await remembering.images() == [first, second]


async def test_what_is_read_later_is_not_older_than_what_was_read_before(remembering, an_image):
    """Who keeps rows with a version that was read first would else wait for a change that came."""
    first = await an_image(7)
    assert await remembering.images() == [first]
    second = await an_image(8)
    assert (await remembering.versions_since({"": 0}))[""][0] == 2
    assert await remembering.images() == [first, second]


async def test_a_change_of_its_own_is_seen_at_once(remembering, an_image):
    image = await an_image()
    assert [one.state for one in await remembering.images()] == ["wanted"]
    await remembering.change(image, changed_at=2.0, state="building", brid=5)
    assert [one.state for one in await remembering.images()] == ["building"]


async def test_after_a_change_of_its_own_it_asks_for_nothing_that_is_known(
    remembering, pool, an_image
):
    image = await an_image()
    assert await remembering.probes() == []
    asked = pool.asked
    await remembering.change(image, changed_at=2.0, state="building", brid=5)
    assert await remembering.probes() == []
    assert pool.asked == asked + 1  # the change


@pytest.mark.parametrize(
    "statement",
    ["UPDATE bench_image SET label = 'x'", "DELETE FROM bench_image", None],
    ids=["update", "delete", "insert"],
)
async def test_what_a_person_does_by_sql_is_seen_at_the_next_look(
    remembering, an_image, engine, statement
):
    image = await an_image()
    before = await remembering.images()
    values = {name: getattr(image, name) for name in IMAGE.c.keys()}  # noqa: SIM118 - no mapping
    with engine.begin() as conn:
        if statement is None:
            conn.execute(sa.insert(IMAGE).values(values | {"id": 99, "variant": "y"}))
        else:
            conn.execute(sa.text(statement))
    remembering.look_again()
    assert await remembering.images() != before


async def test_a_change_that_ends_behind_a_look_is_seen_at_the_next(remembering, an_image, engine):
    image = await an_image()
    with engine.connect() as other:
        take_write_lock(other)
        other.execute(sa.update(IMAGE).values(label="changed"))
        remembering.look_again()
        assert [one.label for one in await remembering.images()] == [image.label]
        other.commit()
    remembering.look_again()
    assert [one.label for one in await remembering.images()] == ["changed"]


async def test_who_changes_what_was_read_changes_nothing_of_what_is_remembered(
    remembering, an_image
):
    image = await an_image()
    (await remembering.images()).clear()
    assert await remembering.images() == [image]


async def test_what_nobody_reads_any_more_is_forgotten(remembering, pool, an_image):
    await an_image()
    await remembering.images()
    for _ in range(2):
        remembering.forget_unused()
    asked = pool.asked
    await remembering.images()
    assert pool.asked == asked + 1


async def test_a_table_that_nobody_watches_is_read_each_time(remembering, an_image, engine):
    await an_image(7)
    with engine.begin() as conn:
        conn.execute(sa.delete(CHANGE))
    remembering.look_again()
    assert len(await remembering.images()) == 1
    with engine.begin() as conn:
        conn.execute(sa.update(IMAGE).values(label="changed"))
        conn.execute(sa.delete(CHANGE))
    assert [one.label for one in await remembering.images()] == ["changed"]


async def test_few_rows_are_made_of_many_and_count_as_much(remembering, an_image, engine):
    await an_image()
    with engine.begin() as conn:
        conn.execute(sa.insert(CHANGE), [{"name": "bench_image", "changes": 1}] * watch.MOST_ROWS)
        before = watch.marks(conn)
    await remembering.images()
    with engine.connect() as conn:
        after = watch.marks(conn)
    assert before.rows > watch.MOST_ROWS > after.rows
    assert after.of == before.of


def test_all_tables_are_watched_but_those_that_tell_of_nothing_else(engine):
    with engine.connect() as conn:
        assert watch.watched(conn) == set(METADATA.tables) - {"bench_change", "bench_lease"}


def test_a_table_that_is_built_anew_is_watched_again(empty):
    with empty.begin() as conn:
        upgrade(conn)
    with empty.begin() as conn:
        for name in ("bench_notice", "bench_capture"):
            METADATA.tables[name].drop(conn)
            METADATA.tables[name].create(conn)
        assert {"bench_notice", "bench_capture"}.isdisjoint(watch.watched(conn))
        upgrade(conn)
        assert {"bench_notice", "bench_capture"} <= watch.watched(conn)
        assert sql.is_current(conn)


async def test_a_table_that_a_query_reads_twice_is_one_table(remembering, pool):
    assert await remembering.series_that_fail() == []  # whose other attempts it looks at too
    remembering.look_again()
    asked = pool.asked
    assert await remembering.series_that_fail() == []
    assert pool.asked == asked + 1
