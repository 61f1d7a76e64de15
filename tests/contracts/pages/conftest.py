"""The farms on which every page and REST resource is tested, one on each database."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from twisted.web.server import Request

from buildbot_bench.core.triggers import WEEK_S
from buildbot_bench.plugin.db.sql import take_write_lock, upgrade
from buildbot_bench.plugin.farm import Farm
from tests.contracts.pages.named import places
from tests.databases import DATABASES, sqlite_engine
from tests.fakes.database import DirectPool
from tests.fakes.full_past import WHOLE, live_through_everything, take_leases
from tests.fakes.past import Past
from tests.fakes.remembered import Remembered
from tests.fakes.second_revision import second_revision
from tests.fakes.served import ServedFarm
from tests.plugin.conftest import (  # noqa: F401 - the fixtures of the plugin's farms
    _calculated_here,
    make_farm,
    master,
    new_pool,
    past,
    postgresql,
    postgresql_tables,
    published,
    pytest_pyfunc_call,
    sqlite_tables,
)
from tests.stored_tables import STORED, restore

Serve = Callable[..., Awaitable[ServedFarm]]


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def pool(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DirectPool]:
    """As the plugin's; that of `stored` has what the first release stored, upgraded since."""
    if database != "stored":
        with new_pool(database, request, tmp_path) as pool:
            yield pool
        return
    engine = sqlite_engine(tmp_path / "state.sqlite")
    restore(STORED / "first.sql.gz", engine, tmp_path / "stored.sqlite")
    with second_revision(tmp_path / "versions"), engine.begin() as conn:
        take_write_lock(conn)
        upgrade(conn)
    yield DirectPool(engine)
    engine.dispose()


@pytest.fixture
def farm(make_farm) -> Farm:  # noqa: F811
    return make_farm(*WHOLE)


@pytest.fixture
def engine(pool) -> sa.Engine:
    return pool.engine


@pytest.fixture(scope="session")
def remembered() -> dict[str, Remembered]:
    """What the first farm on each database lived through."""
    return {}


@pytest.fixture
def served(past: Past, master, engine: sa.Engine, remembered, database) -> Serve:  # noqa: F811
    """Serves the farm, after it has lived through one thing of each kind."""

    async def serve(request_factory: type[Request] = Request) -> ServedFarm:
        name = engine.dialect.name
        if database == "stored":
            master.reactor.advance(WEEK_S)
        elif known := remembered.get(name):
            master.reactor.advance(known.lasted_s)
            known.write(engine)
        else:
            began_s = past.farm.now()
            await live_through_everything(past)
            remembered[name] = Remembered.of(engine, past.farm.now() - began_s)
        await take_leases(past)
        return await ServedFarm(master).start(request_factory)

    return serve


@pytest.fixture
def there(engine: sa.Engine) -> Callable[[], dict[str, list[str]]]:
    """What there is, once the farm is served."""
    all_series = [("apu", "forwarding"), ("xeon", "forwarding")]
    return lambda: places(engine, all_series, positions=(4, 9, 12, 17))
