"""Real farms for tests, with all their processes ended afterwards."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from buildbot_bench.demo.farm import FarmPlan, LocalFarm
from tests.e2e.histories import iflib_history
from tests.e2e.replay_farm import (
    History,
    ReplayFarm,
    Shape,
    end_processes_in,
    processes_in,
)
from tests.readme import CHECKOUT

_GRACE_S = 120.0


@contextmanager
def module_farms(
    temporary: pytest.TempPathFactory,
) -> Iterator[Callable[..., ReplayFarm]]:
    """A function that makes a farm of a shape and starts it; all of them end with the context.

    Without a history of its own, a farm has r311848 to r313448. `prepare` may change its files
    before it starts. Its master's directory is a copy, unless `created` has Buildbot make it.
    """
    with ExitStack() as ends:

        def make(
            shape: Shape,
            history: History | None = None,
            prepare: Callable[[ReplayFarm], None] | None = None,
            kind: type[ReplayFarm] = ReplayFarm,
            *,
            created: bool = False,
        ) -> ReplayFarm:
            directory = temporary.mktemp("farm").resolve()
            home = temporary.getbasetemp() / "iflib"
            farm = kind(directory, history or iflib_history(home), shape)
            ends.callback(_end, farm)
            if prepare is not None:
                prepare(farm)
            if shape.db_url is None and not created:
                _copy_master(_empty_master(temporary), farm)
            farm.start()
            return farm

        yield make


def _empty_master(temporary: pytest.TempPathFactory) -> Path:
    """What `buildbot create-master` makes, which takes as long as the start of a master.

    It is made once for all farms of a session.
    """
    directory = temporary.getbasetemp().resolve() / "empty-farm"
    if not directory.exists():
        partial = directory.with_suffix(".partial")
        partial.mkdir()
        LocalFarm(FarmPlan(directory=partial, workflow=CHECKOUT / "bench.yml")).prepare()
        shutil.rmtree(partial / "master" / "secrets")  # each farm has its own
        tac = partial / "master" / "buildbot.tac"
        tac.write_text(tac.read_text().replace(str(partial), str(directory)))
        partial.rename(directory)
    return directory / "master"


def _copy_master(empty: Path, farm: ReplayFarm) -> None:
    master = farm.directory / "master"
    shutil.copytree(empty, master)
    tac = master / "buildbot.tac"
    text = tac.read_text()
    assert str(empty) in text
    tac.write_text(text.replace(str(empty), str(master)))


def _end(farm: ReplayFarm) -> None:
    """Stop a farm; fails when its processes started what they did not take along."""
    farm.end()
    deadline = time.monotonic() + _GRACE_S
    while processes_in(farm.directory) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not end_processes_in(farm.directory), "processes outlived their farm"
