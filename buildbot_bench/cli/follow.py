"""The wait for a search to end, across restarts of the farm."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from buildbot_bench.cli.answers import RemoteProbe, RemoteSearch, read_probe, read_search
from buildbot_bench.cli.client import FarmUnreachableError
from buildbot_bench.cli.progress import Display
from buildbot_bench.cli.wording import cost_text, hours_text
from buildbot_bench.core.errors import InfraError, NotYetError

LONGEST_PAUSE_S = 30.0

Seen = TypeVar("Seen")


class SearchSource(Protocol):
    """Where a search is looked at: the farm, or a test's list of answers."""

    def search(self, search_id: int) -> dict[str, Any]:
        """The search as it stands."""

    def probes(self, search_id: int) -> list[dict[str, Any]]:
        """All its probes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How often to look, how long to bear silence, and the clock by which both are meant."""

    poll_s: float = 1.0
    patience_s: float = 900.0
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic


def when_ready(
    ask: Callable[[], Seen], notice: Callable[[str], None], pace: Pace, *, hint: str | None = None
) -> Seen:
    """What the farm answers once its mirror of the repository is there, however long that takes.

    `notice` hears how far it is. With a hint, a farm that falls silent meanwhile is asked again as
    `patiently` does it: the question is then one that may be asked twice.
    """
    asked = ask
    while True:
        try:
            return asked()
        except NotYetError as progress:
            notice(progress.message)
            pace.sleep(pace.poll_s)
            if hint is not None:
                asked = partial(patiently, ask, notice, pace, hint=hint)


def follow(
    source: SearchSource, search_id: int, display: Display, pace: Pace, *, cost: bool = False
) -> RemoteSearch:
    """Show the search until it ends; return it as it ended. With `cost`, its forecast, once.

    A farm that was there and falls silent is asked again, ever more seldom, until `patience_s` is
    spent; then FarmUnreachableError. One that never answered is not waited for.
    """
    search, probes = _look(source, search_id)
    while True:
        if cost and search.forecast is not None:
            display.notice(cost_text(search.forecast))
            cost = False
        display.show(search, probes)
        if search.ended:
            return search
        pace.sleep(pace.poll_s)
        search, probes = _look_patiently(source, search_id, display, pace)


def _look(source: SearchSource, search_id: int) -> tuple[RemoteSearch, Sequence[RemoteProbe]]:
    # In this order: the probes of a search that has ended do not change any more.
    search = read_search(source.search(search_id))
    return search, [read_probe(raw) for raw in source.probes(search_id)]


def _look_patiently(
    source: SearchSource, search_id: int, display: Display, pace: Pace
) -> tuple[RemoteSearch, Sequence[RemoteProbe]]:
    hint = f"the search goes on with the farm: `bench-bisect --follow {search_id}`"
    return patiently(lambda: _look(source, search_id), display.notice, pace, hint=hint)


def patiently(
    look: Callable[[], Seen], notice: Callable[[str], None], pace: Pace, *, hint: str
) -> Seen:
    """What a look at the farm gives, however long it is away, up to the pace's patience."""
    silent_since_s = pace.monotonic()
    pause_s = pace.poll_s
    warned = False
    while True:
        try:
            seen = look()
        except FarmUnreachableError as error:
            left_s = silent_since_s + pace.patience_s - pace.monotonic()
            if left_s <= 0:
                raise InfraError(error.message, hint=hint) from error
            if not warned:
                warned = True
                patience = hours_text(pace.patience_s / 3600)
                notice(f"{error.message}; trying again for {patience}")
            pace.sleep(min(pause_s, left_s))
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
        else:
            if warned:
                notice("the farm answers again")
            return seen
