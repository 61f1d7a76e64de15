"""Memory of query results, each valid until a table that its query read changes.

Numbers of changes are read before the results that are kept with them: a concurrent change costs
one read more, and no stale result outlives the next look.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from buildbot_bench.plugin.db.reads import tables_read
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.watch import MOST_ROWS, Marks, marks

T = TypeVar("T")

# What is longer would take memory that a master has for better things: of one query, and of all.
MOST_KEPT = 5000
MOST_IN_ALL = 100_000

Run = Callable[[Callable[[sa.Connection], Any]], Awaitable[Any]]


@dataclass(slots=True)
class _Known:
    """What a query gave, and the numbers of changes of what it had read, as they were before."""

    value: Any
    marks: Mapping[str, int]
    length: int
    used: bool = True


class Memory:
    """Of one store; what it gives is a copy, so that nobody changes what another will get."""

    def __init__(self) -> None:
        self._marks: Marks | None = None
        self._known: dict[Hashable, _Known] = {}
        self._length = 0

    def look_again(self, seen: Marks | None = None) -> None:
        """Let the next look read the numbers anew, or go by those that somebody saw just now."""
        self._marks = seen

    def forget_unused(self) -> None:
        """Forget what was not read since this was called last."""
        self._known = {key: known for key, known in self._known.items() if known.used}
        self._length = sum(known.length for known in self._known.values())
        for known in self._known.values():
            known.used = False

    async def look(self, run: Run) -> bool:
        """Read the numbers unless they are known; say whether they stand in too many rows."""
        if self._marks is not None:
            return False
        self._marks = found = await run(_marks)
        return found.rows > MOST_ROWS

    async def read(
        self,
        run: Run,
        thd: Callable[[sa.Connection], T],
        query: Hashable,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> T:
        """What `thd` gives, which is the query with these arguments, or what it gave."""
        now = self._marks.of if self._marks is not None else {}
        key = (query, _frozen(args), _frozen(kwargs))
        try:
            known = self._known.get(key)
        except TypeError:  # an argument that cannot be remembered
            return await run(thd)
        if known is not None and known.marks.items() <= now.items():
            known.used = True
            return _copy(known.value)
        value, tables = await run(lambda conn: _with_tables(conn, thd))
        if forgotten := self._known.pop(key, None):
            self._length -= forgotten.length
        length = _length_of(value)
        has_room = length <= min(MOST_KEPT, MOST_IN_ALL - self._length)
        if tables and tables <= now.keys() and has_room:
            seen = {name: now[name] for name in tables}
            self._known[key] = _Known(value=_copy(value), marks=seen, length=length)
            self._length += length
        return value


def _marks(conn: sa.Connection) -> Marks:
    with conn.begin():
        return marks(conn)


def _with_tables(conn: sa.Connection, thd: Callable[[sa.Connection], T]) -> tuple[T, set[str]]:
    """What it gives, and the tables that it read; none when nobody can tell."""
    read: set[str] | None = set()

    def note(_conn: object, _cursor: object, _text: str, _given: object, *others: Any) -> None:
        nonlocal read
        context, _many = others
        found = tables_read(getattr(context, "invoked_statement", None))
        ours = found is not None and all(table.metadata is METADATA for table in found)
        if read is not None:
            read = read | {table.name for table in found or ()} if ours else None

    sa.event.listen(conn, "before_cursor_execute", note)
    try:
        value = thd(conn)
    finally:
        sa.event.remove(conn, "before_cursor_execute", note)
    return value, read or set()


def _frozen(value: Any) -> Hashable:
    """The same for what is alike; what it cannot freeze stays as it is."""
    match value:
        case list() | tuple():
            return type(value).__name__, tuple(_frozen(one) for one in value)
        case set() | frozenset():
            return "set", frozenset(value)
        case Mapping():
            return "map", tuple((key, _frozen(one)) for key, one in value.items())
        case _:
            frozen: Hashable = value
            return frozen


def _copy(value: Any) -> Any:
    """A copy of lists, sets and mappings, and of those right within a mapping; rows are frozen."""
    match value:
        case dict():
            return {key: _copy(one) for key, one in value.items()}
        case list() | set():
            return value.copy()
        case _:
            return value


def _length_of(value: Any) -> int:
    """How many rows or figures it has, those right within a mapping among them."""
    match value:
        case dict():
            return sum(_length(one) for one in value.values())
        case _:
            return _length(value)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, Collection) and not isinstance(value, str) else 1
