"""A store on SQLite and on PostgreSQL, for tests that must hold on both."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState, SearchState
from buildbot_bench.demo.on_disk import FarmPlace
from buildbot_bench.plugin.db.columns import ProbeReason, SearchReason
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRequest, ProbeRow
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.sql import take_write_lock, upgrade
from buildbot_bench.plugin.db.store import BenchStore
from tests.databases import DATABASES, empty_tables, new_schema, sqlite_engine
from tests.fakes.database import DirectPool, iterated, sha
from tests.fakes.whole_farm import ANSWER, BOOTS, DIGEST, KERNEL, WORKFLOW, WholeFarm, boot


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run the tests here that are coroutines: their pool never waits."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session", params=DATABASES)
def new_engine(request, tmp_path_factory) -> Iterator[Callable[[], sa.Engine]]:
    """Makes engines, each on an empty database (or schema) of its own."""
    with ExitStack() as ends:

        def make() -> sa.Engine:
            if request.param == "postgresql":
                server = request.getfixturevalue("postgresql")
                return ends.enter_context(new_schema(server))
            engine = sqlite_engine(tmp_path_factory.mktemp("db") / "bench.sqlite")
            ends.callback(engine.dispose)
            return engine

        yield make


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
    empty_tables(_upgraded, METADATA)
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
            "image_id": image.id,
            "testbed": "apu",
            "workload": "forwarding",
            "epoch": "2026",
            "iterations": 5,
            "priority": 10,
            "reason": ProbeReason.COMMIT,
        }
        token, now = columns.pop("token", "job"), columns.pop("now", 2.0)
        return await store.ensure_probe(ProbeRequest(**values | columns), token=token, now=now)

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
            "reason": SearchReason.ALARM,
            "requester": "judge",
        }
        now = columns.pop("now", 3.0)
        return await store.add_search(NewSearch(**values | columns), now=now)

    return make


@pytest.fixture
def farm_place(engine, tmp_path) -> FarmPlace:
    directory = tmp_path.resolve()
    return FarmPlace(
        directory=directory,
        master=directory / "master",
        db=engine.url,
        workflow=directory / "bench.yml",
        states=(directory / "lab" / "state",),
    )


@pytest.fixture
def whole_farm(engine, store, a_probe, a_search, farm_place) -> Iterator[WholeFarm]:
    """Image 1 is built, probe 1 done, search 1 found and mailed; whole in every respect."""
    planted = WholeFarm(place=farm_place, engine=engine, token=uuid4().hex)
    planted.kernel.parent.mkdir(parents=True)
    planted.kernel.write_bytes(KERNEL)
    planted.place.workflow.write_text(WORKFLOW)

    async def past() -> None:
        probe = await a_probe(token=planted.token, iterations=BOOTS)
        image = await store.image(probe.image_id)
        await store.keep_artefact(digest=DIGEST, size=len(KERNEL), now=4.0)
        await store.change(
            image, changed_at=4.0, state="built", digest=DIGEST, kernel_digest=DIGEST
        )
        for ordinal in range(BOOTS):
            await iterated(store, probe, boot(ordinal).values["pps"], at_s=5.0, ordinal=ordinal)
        await store.change(probe, state=ProbeState.DONE, ended_at=9.0)
        search = await a_search()
        await store.change(search, state=SearchState.FOUND, answer=ANSWER, ended_at=10.0)
        mail = await store.add_mail(
            f"search:{search.id}",
            message_id="<1@x>",
            subject="s",
            recipients=["a@x"],
            message=b"",
            now=11.0,
        )
        await store.change(mail, state="sent", sent_at=12.0)

    asyncio.run(past())
    planted.tell(*(boot(ordinal) for ordinal in range(BOOTS)))
    planted.change(
        "CREATE TABLE buildrequests (id integer, complete integer, complete_at integer)",
        "CREATE TABLE masters (id integer, name text, active integer, last_active integer)",
        "INSERT INTO masters VALUES (1, 'one:/m', 1, 100)",
    )
    yield planted
    planted.change("DROP TABLE buildrequests", "DROP TABLE masters")
