"""How a query becomes an asynchronous method: one call, one transaction; knows no query.

Buildbot's pool hands out a connection in a thread and commits nothing by itself. It repeats a
call for which SQLite said "database is locked", which is safe because a call is a transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa

P = ParamSpec("P")
T = TypeVar("T")

Query = Callable[Concatenate[sa.Connection, P], T]


class Pool(Protocol):
    """What we need of `master.db.pool`."""

    def do(self, function: Callable[[sa.Connection], T], /) -> Awaitable[T]:
        """Call the function with a connection of its own."""


class PooledStore:
    """Something whose methods are queries run through a pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def run(self, function: Callable[[sa.Connection], T]) -> T:
        """What the function gives for a connection of the pool."""
        return await self._pool.do(function)


Method = Callable[Concatenate[PooledStore, P], Coroutine[Any, Any, T]]


def reading(query: Query[P, T]) -> Method[P, T]:
    """The method that runs a query which changes nothing."""

    @wraps(query)
    async def method(store: PooledStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        def thd(conn: sa.Connection) -> T:
            with conn.begin():
                return query(conn, *args, **kwargs)

        return await store.run(thd)

    return method


def writing(query: Query[P, T]) -> Method[P, T]:
    """The method that runs a query which may change rows: all that it does, or nothing."""

    @wraps(query)
    async def method(store: PooledStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        def thd(conn: sa.Connection) -> T:
            with conn.begin():
                take_write_lock(conn)
                return query(conn, *args, **kwargs)

        return await store.run(thd)

    return method


def take_write_lock(conn: sa.Connection) -> None:
    """Begin SQLite's transaction as a writer.

    Python's driver would begin it at the first change only, so that what was read before could
    already be outdated. PostgreSQL needs nothing: there, rows and advisory locks do it.
    """
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql("BEGIN IMMEDIATE")
