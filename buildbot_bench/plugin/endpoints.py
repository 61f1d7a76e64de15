"""What all our REST resources refuse before a table is read; it knows none of them.

Buildbot looks at a query's words only; a number that no row can have would end in the database,
and in another way on PostgreSQL than on SQLite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from buildbot.data import base
from buildbot.data.exceptions import InvalidPathError, InvalidQueryParameter
from buildbot.util.twisted import async_to_deferred

from buildbot_bench.plugin.db.sql import MOST


class BenchEndpoint(base.Endpoint):
    """A resource of ours: `show` reads it, and `act` is what its control methods do."""

    @async_to_deferred
    async def get(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What is there; None, which Buildbot answers by 404, when there is nothing."""
        refuse_nonsense(resultSpec)
        return await self.show(resultSpec, kwargs) if _possible(kwargs) else None

    @async_to_deferred
    async def control(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """Do what a control method says; what there cannot be is answered by 404."""
        if not _possible(kwargs):
            raise InvalidPathError("there is nothing of that number")
        return await self.act(action, args, kwargs)

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What there is under a path; None for nothing."""
        raise NotImplementedError

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """Refuse the method, as Buildbot does; a resource that has some says so itself."""
        return await super().control(action, args, kwargs)


def refuse_nonsense(spec: Any) -> None:
    """Raise InvalidQueryParameter, which is answered by 400, for a query that means nothing."""
    for name in ("limit", "offset"):
        number = getattr(spec, name)
        if number is not None and number < 0:
            raise InvalidQueryParameter(f"{name}={number}: it must be 0 or more")
    for one in spec.filters:
        if one.op == "contains" and not all(isinstance(value, str) for value in one.values):
            raise InvalidQueryParameter(f"{one.field}__contains: a number contains nothing")


def newest(spec: Any, most: int) -> int:
    """How many of a list's newest rows a request is answered from, at most so many.

    What sorts or filters them looks at all; else those behind the last one that is shown are idle.
    """
    if spec.filters or spec.order or spec.limit is None:
        return most
    return min(int(spec.limit) + int(spec.offset or 0), most)


def _possible(kwargs: Mapping[str, Any]) -> bool:
    """Whether the tables can have the numbers of a path."""
    numbers = (value for value in kwargs.values() if isinstance(value, int))
    return all(0 <= number <= MOST for number in numbers)
