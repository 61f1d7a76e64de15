"""A farm on a real database and a real repository; only Buildbot's master is a stand-in."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from buildbot_bench.history import MirrorHistory
from buildbot_bench.plugin.db.migrate import upgrade
from buildbot_bench.plugin.db.transactions import take_write_lock
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from buildbot_bench.plugin.pages.histories import Histories
from buildbot_bench.workflow import load
from tests.fakes.database import DirectPool
from tests.fakes.master import FakeMaster
from tests.fakes.past import Past
from tests.gitrepo import make_repository, numbered

REVISIONS = 20
WORKFLOW = Path(__file__).with_name("bench.yml").read_text(encoding="utf-8")
MakeFarm = Callable[..., Farm]


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
def _threads_end() -> Iterator[None]:
    yield
    reactor.getThreadPool().stop()


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[int, str]]:
    """A repository of revisions r1 to r20, a mirror of it, and the hash at each position."""
    home = tmp_path_factory.mktemp("published")
    shas = make_repository(home / "src", numbered(1, REVISIONS))
    MirrorHistory(home / "mirror.git", str(home / "src")).fetch()
    return home / "src", home / "mirror.git", dict(enumerate(shas, start=1))


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the bench_* tables and nothing in them."""
    path = tmp_path_factory.mktemp("tables") / "empty.sqlite"
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    with engine.begin() as conn:
        take_write_lock(conn)
        upgrade(conn)
    return path


@pytest.fixture
def pool(empty_tables: Path, tmp_path: Path) -> DirectPool:
    path = shutil.copyfile(empty_tables, tmp_path / "state.sqlite")
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    # No test pulls the plug: waiting for the disk would be most of their time.
    sa.event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous = off"))
    return DirectPool(engine)


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
        farm.looked()
        service = SimpleNamespace(farm=farm, histories=Histories())
        master.service_manager.namedServices[SERVICE_NAME] = service
        return farm

    return make


@pytest.fixture
def farm(make_farm: MakeFarm) -> Farm:
    return make_farm()


@pytest.fixture
def past(farm: Farm, published) -> Past:
    return Past(farm, published[2])
