"""Timers that stay in time when the machine's clock is set back.

Twisted's timers go by the wall clock: a master whose clock is set back by an hour would start
nothing for that hour, and a worker would reconnect as late.
"""

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from twisted.application.service import Service
from twisted.logger import Logger

_LOG = Logger()

# A timer that is set after the clock was and before it is looked at rings early: seldom, then.
_LOOK_S = 0.25
# Less than this no timer of ours is about; NTP corrects it without a jump.
_LEAST_S = 1.0

Clock = Callable[[], float]


class SteadyTimers(Service):
    """Moves all timers of a reactor by as much as the clock was set back.

    `wall` and `monotonic` give seconds; the second is never set.
    """

    def __init__(
        self, reactor: Any, *, wall: Clock = time.time, monotonic: Clock = time.monotonic
    ) -> None:
        self._reactor = reactor
        self._wall = wall
        self._monotonic = monotonic
        self._ended = Event()
        self._ahead_s = wall() - monotonic()

    def startService(self) -> None:  # noqa: N802 - Twisted's name
        """Look at the clock in a thread, whose pauses no clock on the wall prolongs."""
        super().startService()
        self._ended.clear()
        Thread(target=self._watch, name="steady timers", daemon=True).start()

    def stopService(self) -> None:  # noqa: N802 - Twisted's name
        """Look no more."""
        self._ended.set()
        super().stopService()

    def look(self) -> None:
        """Move the timers if the clock was set back since the last look."""
        ahead_s = self._wall() - self._monotonic()
        back_s = self._ahead_s - ahead_s
        self._ahead_s = ahead_s
        if back_s >= _LEAST_S:
            self._reactor.callFromThread(self._hasten, back_s)

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_S):
            self.look()

    def _hasten(self, seconds: float) -> None:
        _LOG.warn(
            "bench: the clock was set back by {seconds} s; the timers move", seconds=round(seconds)
        )
        for call in self._reactor.getDelayedCalls():
            call.delay(-seconds)
