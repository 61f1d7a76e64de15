"""A database pool that answers late, and now and then a later question first."""

from __future__ import annotations

from itertools import cycle

import sqlalchemy as sa
from twisted.internet import reactor, task

from tests.fakes.database import DirectPool


class LatePool(DirectPool):
    """As one with threads does."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        self._delays_s = cycle((0.02, 0.001))

    async def do(self, function):
        await task.deferLater(reactor, next(self._delays_s))
        return await super().do(function)
