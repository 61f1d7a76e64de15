"""A cache of pages, each kept while the fingerprint of its content stays the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred, DeferredLock

Json = dict[str, Any]
Make = Callable[[], Awaitable[Json]]

MOST_KEPT = 32
"""So many pages are kept, each of some 200 kB: those that were asked for last."""


class KeptPages:
    """Pages by what they are of, each with the fingerprint of all that it shows."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[int, tuple[str, Json]] = OrderedDict()
        self._one_at_a_time = DeferredLock()

    async def read(self, number: int, fingerprint: str, make: Make) -> Json:
        """The page of that number, made unless it is kept with this fingerprint.

        Who asks while it is made gets the same.
        """
        return self._find(number, fingerprint) or await self._one_at_a_time.run(
            lambda: Deferred.fromCoroutine(self._make(number, fingerprint, make))
        )

    async def _make(self, number: int, fingerprint: str, make: Make) -> Json:
        if (kept := self._find(number, fingerprint)) is not None:
            return kept
        page = await make()
        self._kept[number] = fingerprint, page
        self._kept.move_to_end(number)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return page

    def _find(self, number: int, fingerprint: str) -> Json | None:
        known, page = self._kept.get(number, ("", None))
        if page is None or known != fingerprint:
            return None
        self._kept.move_to_end(number)
        return page
