"""Real farms for tests, one for each module, with their logs' ends when a test fails."""

from collections.abc import Callable, Iterator

import pytest

from tests.chromium import CHROMIUM, Page, chromium
from tests.databases import new_database, postgresql_server
from tests.e2e.farms import module_farms
from tests.e2e.inbox import Inbox
from tests.e2e.replay_farm import ReplayFarm

# Those that take longest begin first, so that none goes on when all others are done.
LONGEST = (
    "test_access_farm",
    "test_several_masters",
    "test_one_incident",
    "test_kept_farm",
    "test_slope_and_layout",
    "test_restarts",
    "test_broken_branch",
    "test_iflib",
    "test_published",
    "test_pages",
    "test_readme_farm",
    "test_init_farm",
    "test_demo",
    "test_rest_contract",
    "test_bench_farm",
    "test_followers",
    "test_burst",
    "test_twins",
    "test_closed_to_others",
)
# What a farm may take on a busy machine; its tests' own deadlines come first, and say what lacks.
TIMEOUT_S = 900
# Its assertions are to say what they compared, like a test's own.
pytest.register_assert_rewrite("tests.e2e.checks")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))
    for item in items:
        if item.get_closest_marker("e2e") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of an empty database, dropped afterwards."""
    with new_database(postgresql_server()) as url:
        yield url


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab of a browser with a profile of its own."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the PATH")
    with chromium(tmp_path_factory.mktemp("profile")) as new_tab:
        yield new_tab()


@pytest.fixture(scope="module")
def farms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ReplayFarm]]:
    """Makes farms and starts them; whatever becomes of the test, none of their processes stays."""
    with module_farms(tmp_path_factory) as make:
        yield make


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inbox]:
    """Where the mails of a module's farm arrive; it takes them from now on."""
    with Inbox(tmp_path_factory.mktemp("inbox")) as inbox:
        yield inbox


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.failed:
        for farm in getattr(item, "funcargs", {}).values():
            if isinstance(farm, ReplayFarm):
                report.sections.extend(farm.tails())
    return report
