"""A store on SQLite and on PostgreSQL: what holds must hold on both."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
from collections.abc import Awaitable, Callable, Iterator

import pytest
import sqlalchemy as sa

from buildbot_bench.plugin.db.migrate import upgrade
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, SearchRow
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.db.transactions import take_write_lock
from tests.fakes.database import DirectPool, sha

DEFAULT_POSTGRESQL = "postgresql+psycopg://127.0.0.1:5432/test"
_SCHEMAS = itertools.count()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run the tests here that are coroutines: their pool never waits."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def postgresql() -> sa.Engine:
    url = os.environ.get("BENCH_TEST_POSTGRESQL", DEFAULT_POSTGRESQL)
    engine = sa.create_engine(url, connect_args={"connect_timeout": 5})
    try:
        engine.connect().close()
    except sa.exc.OperationalError as error:
        pytest.skip(f"no PostgreSQL at {engine.url} (set BENCH_TEST_POSTGRESQL): {error.orig}")
    return engine


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_engine(request, tmp_path_factory) -> Iterator[Callable[[], sa.Engine]]:
    """Makes engines, each on an empty database (or schema) of its own."""
    engines: list[sa.Engine] = []

    def on_sqlite() -> sa.Engine:
        path = tmp_path_factory.mktemp("db") / "bench.sqlite"
        engine = sa.create_engine(f"sqlite:///{path}?timeout=60", poolclass=sa.NullPool)
        # No test pulls the plug: waiting for the disk would be most of their time.
        sa.event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous = off"))
        return engine

    def on_postgresql() -> sa.Engine:
        server = request.getfixturevalue("postgresql")
        schema = f"bench_test_{os.getpid()}_{next(_SCHEMAS)}"
        with server.begin() as conn:
            conn.execute(sa.schema.CreateSchema(schema))
        url = server.url.update_query_dict({"options": f"-csearch_path={schema}"})
        return sa.create_engine(url)

    def make() -> sa.Engine:
        engines.append(on_sqlite() if request.param == "sqlite" else on_postgresql())
        return engines[-1]

    yield make
    for engine in engines:
        if request.param == "postgresql":
            with engine.begin() as conn:
                schema = conn.execute(sa.select(sa.func.current_schema())).scalar_one()
                conn.execute(sa.schema.DropSchema(schema, cascade=True))
        engine.dispose()


@pytest.fixture
def empty(new_engine) -> sa.Engine:
    """A database without any table."""
    return new_engine()


@pytest.fixture(scope="session")
def _upgraded(new_engine) -> sa.Engine:
    engine = new_engine()
    with engine.begin() as conn:
        take_write_lock(conn)
        upgrade(conn)
    return engine


@pytest.fixture
def engine(_upgraded) -> sa.Engine:
    """A database whose tables are there and empty."""
    with _upgraded.begin() as conn:
        for table in reversed(METADATA.sorted_tables):
            conn.execute(sa.delete(table))
    return _upgraded


@pytest.fixture
def store(engine) -> BenchStore:
    return BenchStore(DirectPool(engine))


@pytest.fixture
def an_image(store) -> Callable[..., Awaitable[ImageRow]]:
    """Wants the plain revision at a position."""

    async def make(position: int = 7, **columns) -> ImageRow:
        name = columns.pop("sha", sha(position))
        values = {
            "sha": name,
            "variant": name,
            "ordinal": 0,
            "position": position,
            "label": f"n{position}",
            "now": 1.0,
        }
        return await store.ensure_image(**values | columns)

    return make


@pytest.fixture
def a_probe(store, an_image) -> Callable[..., Awaitable[ProbeRow]]:
    """Asks for iterations of an image, by default of that at position 7."""

    async def make(image: ImageRow | None = None, **columns) -> ProbeRow:
        image = image or await an_image()
        values = {
            "key": f"commit:{image.variant}:{image.ordinal}:apu:forwarding",
            "token": "job",
            "image_id": image.id,
            "testbed": "apu",
            "workload": "forwarding",
            "epoch": "2026",
            "iterations": 5,
            "priority": 10,
            "reason": "commit",
            "search_id": None,
            "now": 2.0,
        }
        return await store.ensure_probe(**values | columns)

    return make


@pytest.fixture
def a_search(store) -> Callable[..., Awaitable[SearchRow]]:
    """Asks for a search over (10, 20]."""

    async def make(**columns) -> SearchRow:
        values = {
            "key": "alarm:1",
            "branch": "main",
            "testbed": "apu",
            "workload": "forwarding",
            "unit": "pps",
            "old_sha": sha(10),
            "old_position": 10,
            "new_sha": sha(20),
            "new_position": 20,
            "min_effect": 0.02,
            "error": 0.01,
            "reason": "alarm",
            "requester": "judge",
            "now": 3.0,
        }
        return await store.add_search(**values | columns)

    return make
