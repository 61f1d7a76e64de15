"""Concurrent work for several repositories, in which a slow one delays no other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

_LOG = Logger()

# Who waits for all goes on after this without those that take longer, by a clone or a dead server.
PATIENCE_S = 20.0


class SideBySide:
    """Pieces of work by name, of each one at a time."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._going_on: set[str] = set()

    async def run(self, work: Mapping[str, Callable[[], Awaitable[None]]]) -> None:
        """Begin what does not go on already, and wait for it, but not for long.

        Of several that fail meanwhile the first is raised and the others are logged, as is one that
        fails later.
        """
        failures: list[Failure] = []
        waits = True

        def ended(result: Any, name: str) -> None:
            self._going_on.discard(name)
            if not isinstance(result, Failure):
                return
            if waits and not failures:
                failures.append(result)
            else:
                _LOG.failure("bench: {name} failed; it is tried again", result, name=name)

        begun = []
        for name, piece in work.items():
            if name not in self._going_on:
                self._going_on.add(name)
                begun.append(Deferred.fromCoroutine(_awaited(piece)).addBoth(ended, name))
        await self._all_of(begun)
        waits = False
        for failure in failures:
            failure.raiseException()

    async def _all_of(self, begun: list[Deferred[Any]]) -> None:
        waiter: Deferred[None] = Deferred()

        def done(_: Any) -> None:
            if not waiter.called:
                waiter.callback(None)

        DeferredList(begun).addCallback(done)
        waiter.addTimeout(PATIENCE_S, self._reactor, onTimeoutCancel=lambda *_: None)
        await waiter


async def _awaited(piece: Callable[[], Awaitable[None]]) -> None:
    await piece()
