"""The daily update of the database's statistics on its tables."""

from __future__ import annotations

from buildbot_bench.plugin.farm import Farm

EVERY_S = 24 * 3600.0


class Statistics:
    """Has it learn in the first cycle and then daily."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._next_s = 0.0

    async def advance(self) -> None:
        """Let it learn if it is time."""
        if self._farm.now() >= self._next_s:
            await self._farm.store.analyse()
            self._next_s = self._farm.now() + EVERY_S
