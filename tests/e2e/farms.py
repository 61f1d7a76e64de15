"""Makes real farms for tests, and leaves no process of theirs behind; it asks them nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from buildbot_bench.demo.replay_history import make_replay_history
from tests.e2e.replay_farm import (
    History,
    ReplayFarm,
    Shape,
    end_processes_in,
    processes_in,
)

_GRACE_S = 60.0


@contextmanager
def module_farms(
    temporary: pytest.TempPathFactory,
) -> Iterator[Callable[..., ReplayFarm]]:
    """A function that makes a farm of a shape and starts it; all of them end with the context.

    Without a history of its own, a farm has r311848 to r313448. `prepare` may change its files
    before it starts.
    """
    with ExitStack() as ends:

        def make(
            shape: Shape,
            history: History | None = None,
            prepare: Callable[[ReplayFarm], None] | None = None,
        ) -> ReplayFarm:
            directory = temporary.mktemp("farm").resolve()
            farm = ReplayFarm(directory, history or iflib_history(temporary), shape)
            ends.callback(_end, farm)
            if prepare is not None:
                prepare(farm)
            farm.start()
            return farm

        yield make


def iflib_history(temporary: pytest.TempPathFactory) -> History:
    """r311848 to r313448, to publish as much from as a farm needs."""
    path: Path = temporary.mktemp("history") / "src"
    return History(path=path, shas=make_replay_history(path))


def _end(farm: ReplayFarm) -> None:
    """Stop a farm; fails when its processes started what they did not take along."""
    farm.end()
    deadline = time.monotonic() + _GRACE_S
    while processes_in(farm.directory) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not end_processes_in(farm.directory), "processes outlived their farm"
