"""Buildbot's database pool without threads, contents of tables, and made-up hashes."""

from typing import Any, TypeVar

import sqlalchemy as sa

from buildbot_bench.plugin.db.pooled import PooledStore
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.db.sql import fetch_all

Row = TypeVar("Row")


class DirectPool:
    """Calls at once, with a fresh connection that commits nothing by itself."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine

    async def do(self, function):
        with self.engine.connect() as conn:
            return function(conn)


def sha(number: int) -> str:
    """A hash that tells the number."""
    return f"{number:040x}"


async def rows_of(store: PooledStore, table: sa.Table, kind: type[Row], **where: Any) -> list[Row]:
    """The rows of a table whose columns have these values, in the order in which they came."""
    query = sa.select(table).where(*(table.c[name] == value for name, value in where.items()))
    return await store.run(lambda conn: fetch_all(conn, query.order_by(table.c.id), kind))


async def iterated(
    store: PooledStore,
    probe: ProbeRow,
    result: float | str,
    *,
    at_s: float,
    ordinal: int = 0,
    unit: str = "pps",
    duration_s: float = 1.0,
    **more: Any,
) -> None:
    """One iteration of a probe: what it measured, or in words why it failed."""
    failed = isinstance(result, str)
    await store.add_iteration(
        probe=probe,
        ordinal=ordinal,
        unit="" if failed else unit,
        value=None if failed else result,
        failure=result if failed else None,
        at_s=at_s,
        duration_s=duration_s,
        **more,
    )


async def asked_by(farm, act) -> int:
    """How often the pool is asked while `act` runs."""
    ask, asked = farm.master.db.pool.do, 0

    async def count(function):
        nonlocal asked
        asked += 1
        return await ask(function)

    farm.master.db.pool.do = count
    try:
        await act()
    finally:
        farm.master.db.pool.do = ask
    return asked
