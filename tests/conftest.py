"""Fixtures that every test may use: golden files and the data directory."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import buildbot_bench  # noqa: F401  our own numeric libraries have one thread, and no more is set
from tests.chromium import CHROMIUM
from tests.fakes.slow_ssh import git_environment

# Of this process alone: what it starts goes by the user's environment.
sys.dont_write_bytecode = False

# A busy machine is slow at times: that is no failure of the code. Who lands a change is told of
# what the change broke, so the integration machine tries the same examples each time; people's
# machines try others.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("patient")

pytest_plugins = ("tests.skipping",)

TESTS = Path(__file__).parent

# A transaction of a farm waits for the disk several times, which is most of a test's time where
# others write too. No test pulls the plug: their files may as well lie in memory.
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30

# What nohup and a shell's background jobs have their children ignore, and whoever is tested
# listens to.
HEARD = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def pytest_configure() -> None:
    for number in HEARD:
        if signal.getsignal(number) == signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and _takes_programs(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: much of what is tested waits for a farm or a lab."""
    return (os.cpu_count() or 1) + 1


def _takes_programs(directory: Path) -> bool:
    """Whether there is room for what tests build and run."""
    system = os.statvfs(directory)
    return system.f_bavail * system.f_frsize > ROOM_BYTES and not system.f_flag & os.ST_NOEXEC


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew from the code"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    without = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH")
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(without)


@pytest.fixture(scope="session")
def data() -> Path:
    """Where the recorded inputs lie."""
    return TESTS / "data"


@pytest.fixture(scope="session", autouse=True)
def _threads_of_twisted_end() -> Iterator[None]:
    """Whoever has used Twisted's reactor for the first time, its threads end with the tests."""
    yield
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is not None and reactor.threadpool is not None:
        reactor.threadpool.stop()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with tests/golden/<name>, or write it there with --update-golden."""

    def compare(name: str, text: str) -> None:
        path = TESTS / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare


@pytest.fixture
def transport(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose files say how slow git's way to an origin is."""
    directory = tmp_path / "transport"
    directory.mkdir()
    for name, value in git_environment(directory).items():
        monkeypatch.setenv(name, value)
    return directory


@pytest.fixture(autouse=True)
def _no_login_of_the_person_who_tests(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "config"))
