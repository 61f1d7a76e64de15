"""A database pool that answers late, and at times a later query first."""

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


class SickPool(LatePool):
    """Loses the connection at the next question after `fall_ill`, once."""

    _is_ill = False

    def fall_ill(self, _command: object = None) -> None:
        self._is_ill = True

    async def do(self, function):
        if self._is_ill:
            self._is_ill = False
            await task.deferLater(reactor, 0.001)
            raise ConnectionError("the database went away")
        return await super().do(function)
