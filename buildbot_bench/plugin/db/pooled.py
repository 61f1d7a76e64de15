"""Asynchronous methods made of queries: one call, one transaction.

Buildbot's pool hands out a connection in a thread and commits nothing by itself. It repeats a call
for which SQLite said "database is locked", which is safe because a call is a transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import sqlalchemy as sa

from buildbot_bench.plugin.db.memory import Memory
from buildbot_bench.plugin.db.sql import take_write_lock
from buildbot_bench.plugin.db.watch import Marks, marks, squeeze

P = ParamSpec("P")
T = TypeVar("T")

Query = Callable[Concatenate[sa.Connection, P], T]


class Pool(Protocol):
    """What we need of `master.db.pool`."""

    def do(self, function: Callable[[sa.Connection], T], /) -> Awaitable[T]:
        """Call the function with a connection of its own."""


class PooledStore:
    """Something whose methods are queries run through a pool.

    `guard` is called in each transaction that may change rows, before anything else; what it
    raises ends the transaction. With a `memory` it reads nothing twice that did not change.
    """

    def __init__(
        self,
        pool: Pool,
        guard: Callable[[sa.Connection], None] | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._pool = pool
        self._guard = guard
        self._memory = memory

    def admit(self, conn: sa.Connection) -> None:
        """Raise what the guard raises when rows may not be changed through this store."""
        if self._guard is not None:
            self._guard(conn)

    def guarded(self, guard: Callable[[sa.Connection], None]) -> Self:
        """The same tables, whose rows change only while the guard lets them."""
        return type(self)(self._pool, guard)

    def remembering(self) -> Self:
        """The same tables, as they were at the last `look_again` or change through this store.

        For one who reads the same again and again, and looks again before each time.
        """
        return type(self)(self._pool, self._guard, Memory())

    def look_again(self) -> None:
        """Let the next read ask whether the tables have changed; without memory each reads them.

        To be called after somebody else than the tables was asked: what they heard may stand
        in the tables by now.
        """
        if self._memory is not None:
            self._memory.look_again()

    def forget_unused(self) -> None:
        """Forget what was not read since this was called last."""
        if self._memory is not None:
            self._memory.forget_unused()

    async def run(self, function: Callable[[sa.Connection], T]) -> T:
        """What the function gives for a connection of the pool."""
        return await self._pool.do(function)

    async def read(self, query: Query[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What a query gives that changes nothing."""

        def thd(conn: sa.Connection) -> T:
            with conn.begin():
                return query(conn, *args, **kwargs)

        if self._memory is None:
            return await self.run(thd)
        if await self._memory.look(self.run):
            await self.write(squeeze)
        return await self._memory.read(self.run, thd, query, args, kwargs)

    async def write(self, query: Query[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What a query gives that may change rows; it does all of it or nothing."""

        def thd(conn: sa.Connection) -> tuple[T, Marks | None]:
            with conn.begin():
                take_write_lock(conn)
                self.admit(conn)
                value = query(conn, *args, **kwargs)
                return value, None if self._memory is None else marks(conn)

        self.look_again()
        value, seen = await self.run(thd)
        if self._memory is not None:
            self._memory.look_again(seen)  # which the next read need not ask
        return value


Method = Callable[Concatenate[PooledStore, P], Coroutine[Any, Any, T]]


def reading(query: Query[P, T]) -> Method[P, T]:
    """The method that runs a query which changes nothing."""

    @wraps(query)
    async def method(store: PooledStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.read(query, *args, **kwargs)

    return method


def writing(query: Query[P, T]) -> Method[P, T]:
    """The method that runs a query which may change rows: all that it does, or nothing."""

    @wraps(query)
    async def method(store: PooledStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await store.write(query, *args, **kwargs)

    return method
