"""Buildbot's database pool without its threads, and hashes for made-up commits."""

from __future__ import annotations

import sqlalchemy as sa


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
