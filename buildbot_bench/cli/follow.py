"""The wait for a search or a comparison to end, across restarts of the farm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from buildbot_bench.cli.client import FarmUnreachableError
from buildbot_bench.cli.progress import View
from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.errors import InfraError, NotYetError

LONGEST_PAUSE_S = 30.0


class Watchable(Protocol):
    """What is watched until it has ended."""

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""


Seen = TypeVar("Seen")
Watched = TypeVar("Watched", bound=Watchable)


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


def follow(look: Callable[[], Watched], view: View[Watched], pace: Pace, *, hint: str) -> Watched:
    """Show what `look` gives until it has ended; return it as it ended.

    A farm that was there and falls silent is asked again, ever more seldom, until `patience_s` is
    spent; then InfraError with the hint. One that never answered is not waited for.
    """
    seen = look()
    while True:
        view.show(seen)
        if seen.ended:
            return seen
        pace.sleep(pace.poll_s)
        seen = patiently(look, view.notice, pace, hint=hint)


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
