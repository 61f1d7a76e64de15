"""A farm on a real database and a real repository, with a stand-in for Buildbot's master."""

import inspect
import shutil
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from buildbot_bench.history import MirrorHistory
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.sql import take_write_lock, upgrade
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from buildbot_bench.plugin.farm.calculating import use
from buildbot_bench.plugin.pages.histories import Histories
from buildbot_bench.workflow.load import load
from tests.databases import DATABASES, empty_tables, new_schema, postgresql_server, sqlite_engine
from tests.fakes.calculating import AtOnce
from tests.fakes.database import DirectPool
from tests.fakes.master import FakeMaster
from tests.fakes.past import Past
from tests.fakes.smtp import Postmaster, running
from tests.gitrepo import make_repository, numbered

REVISIONS = 20
WORKFLOW = Path(__file__).with_name("bench.yml").read_text(encoding="utf-8")
MakeFarm = Callable[..., Farm]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have tests that are marked `both_databases` run on each."""
    marked = metafunc.definition.get_closest_marker("both_databases")
    if marked and "database" in metafunc.fixturenames:
        metafunc.parametrize("database", DATABASES)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the tests here that are coroutines under Twisted: they wait for threads and sockets."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    _under_twisted(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def _under_twisted(test: Coroutine[Deferred[object], object, object]) -> None:
    outcomes: list[object] = []
    ended = Deferred.fromCoroutine(test).addBoth(outcomes.append)
    if not outcomes:
        ended.addCallback(lambda _: reactor.crash())  # `stop` would be for good
        reactor.run(installSignalHandlers=False)
    # Connections that say goodbye, or are kept for later: the next test is not to hear of them.
    reactor.removeAll()
    for call in reactor.getDelayedCalls():
        call.cancel()
    if isinstance(outcomes[0], Failure):
        outcomes[0].raiseException()


@pytest.fixture(scope="session", autouse=True)
def _calculated_here() -> Iterator[None]:
    before = use(AtOnce())
    yield
    use(before)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[int, str]]:
    """A repository of revisions r1 to r20, a mirror of it, and the hash at each position."""
    home = tmp_path_factory.mktemp("published")
    shas = make_repository(home / "src", numbered(1, REVISIONS))
    MirrorHistory(home / "mirror.git", str(home / "src")).fetch()
    return home / "src", home / "mirror.git", dict(enumerate(shas, start=1))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[sa.Engine]:
    server = postgresql_server()
    yield server
    server.dispose()


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the bench_* tables and nothing in them."""
    path = tmp_path_factory.mktemp("tables") / "empty.sqlite"
    engine = sqlite_engine(path)
    _make_tables(engine)
    engine.dispose()
    return path


@pytest.fixture(scope="session")
def postgresql_tables(postgresql: sa.Engine) -> Iterator[sa.Engine]:
    """A schema with the bench_* tables, which a test finds empty."""
    with new_schema(postgresql) as engine:
        _make_tables(engine)
        yield engine


def _make_tables(engine: sa.Engine) -> None:
    with engine.begin() as conn:
        take_write_lock(conn)
        upgrade(conn)


@pytest.fixture
def database() -> str:
    """Which database a test's farm has, unless it is to have both."""
    return "sqlite"


@pytest.fixture
def pool(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DirectPool]:
    with new_pool(database, request, tmp_path) as pool:
        yield pool


@contextmanager
def new_pool(
    database: str, request: pytest.FixtureRequest, directory: Path
) -> Iterator[DirectPool]:
    """Empty tables on a database of that kind."""
    if database == "postgresql":
        engine = request.getfixturevalue("postgresql_tables")
        empty_tables(engine, METADATA)
        yield DirectPool(engine)
        return
    path = shutil.copyfile(request.getfixturevalue("sqlite_tables"), directory / "state.sqlite")
    engine = sqlite_engine(path)
    try:
        yield DirectPool(engine)
    finally:
        engine.dispose()


@pytest.fixture
def master(tmp_path: Path, pool: DirectPool) -> FakeMaster:
    return FakeMaster(basedir=tmp_path, pool=pool)


@pytest.fixture
def make_farm(master: FakeMaster, tmp_path: Path, published) -> MakeFarm:
    """Makes the farm of tests/plugin/bench.yml, with some words of it replaced.

    Its repository is the shared one, already mirrored, unless another is named.
    """

    def make(*replaced: tuple[str, str], repository: Path | None = None, port: int = 25) -> Farm:
        source, mirror, _ = published
        text = WORKFLOW.replace("REPOSITORY", str(repository or source)).replace("PORT", str(port))
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "bench.yml"
        path.write_text(text, encoding="utf-8")
        here = tmp_path / "mirror.git"
        if repository is None and not here.exists():
            here.symlink_to(mirror)
        farm = Farm(workflow=load(path), master=master)
        farm.mirroring.taken_as_it_is()
        service = SimpleNamespace(farm=farm, histories=Histories())
        master.service_manager.namedServices[SERVICE_NAME] = service
        return farm

    return make


@pytest.fixture
def reconfigure(make_farm: MakeFarm, master: FakeMaster) -> Callable[..., None]:
    """Has a farm go by bench.yml with some words replaced, as `buildbot reconfig` does."""

    def run(farm: Farm, *replaced: tuple[str, str]) -> None:
        service = master.service_manager.namedServices[SERVICE_NAME]
        farm.use(make_farm(*replaced).workflow)
        master.service_manager.namedServices[SERVICE_NAME] = service

    return run


@pytest.fixture
def farm(make_farm: MakeFarm) -> Farm:
    return make_farm()


@pytest.fixture
def postmaster() -> Postmaster:
    return Postmaster()


@pytest.fixture
def port(postmaster):
    with running(postmaster) as port:
        yield port


@pytest.fixture
def past(farm: Farm, published) -> Past:
    return Past(farm, published[2])
