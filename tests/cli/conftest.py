"""Fixtures of bench-bisect's tests: a farm, and the command in this process."""

import time
from collections.abc import Callable, Iterator

import pytest

from buildbot_bench.cli.bisect import main
from tests.fakes.farm import FakeFarm

Bisect = Callable[..., int]


@pytest.fixture
def farm() -> Iterator[FakeFarm]:
    with FakeFarm() as running:
        yield running


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("BENCH_FARM", "BENCH_USER", "BENCH_PASSWORD_FILE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def bisect(farm: FakeFarm) -> Bisect:
    """The command against the farm, polling fast."""

    def run(*arguments: str) -> int:
        return main([*arguments, "--farm", farm.url, "--poll", "0.01s"])

    return run
