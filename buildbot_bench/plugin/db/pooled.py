"""Methods of a store, one transaction each; what they read is kept until a table changes.

Numbers of changes are read before the results that are kept with them: a concurrent change costs
one read more, and no stale result outlives the next look. Nor does a read give what is older than
what an earlier one of the same look gave: who reads a version, and then the rows, would else
believe that it knows the rows of that version.
"""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Hashable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import sqlalchemy as sa
from twisted.logger import Logger

from buildbot_bench.core.legible import one_line
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.finding_rows import JudgementRow, NoticeRow, ReportRow, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, ProfileRow
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.sql import take_write_lock
from buildbot_bench.plugin.db.watch import MOST_ROWS, Marks, marks, squeeze, tables_read

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
            value = await run(thd)
            self.look_again()
            return value
        if known is not None and known.marks.items() <= now.items():
            known.used = True
            return _copy(known.value)
        seen, (value, tables) = await run(lambda conn: (_marks(conn), _with_tables(conn, thd)))
        if self._marks is not None:
            self._marks = self._marks.or_later(seen)
        if forgotten := self._known.pop(key, None):
            self._length -= forgotten.length
        length = _length_of(value)
        has_room = length <= min(MOST_KEPT, MOST_IN_ALL - self._length)
        if tables and tables <= seen.of.keys() and has_room:
            numbers = {name: seen.of[name] for name in tables}
            self._known[key] = _Known(value=_copy(value), marks=numbers, length=length)
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
        # SQLAlchemy compiles statements that differ in their values alone once.
        found = tables_read(getattr(context.compiled, "statement", None))
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


P = ParamSpec("P")

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


_LOG = Logger()
_KINDS: dict[type, str] = {
    AbTestRow: "comparison",
    ImageRow: "image",
    JudgementRow: "judgement",
    NoticeRow: "notice",
    ProbeRow: "probe",
    ProfileRow: "capture",
    ReportRow: "mail",
    SearchRow: "search",
}
# What a row is about, in the words of the log, by its column.
_ABOUT = {
    "search_id": "search",
    "ab_test_id": "comparison",
    "image_id": "image",
    "label": "revision",
    "testbed": "testbed",
    "workload": "workload",
}
# Why it is in that state, in the column that its kind of row has.
_WHY = ("failure", "detail", "last_error", "reason")


def tell(old: Any, new: Any) -> None:
    """Log the new state of a row that has states, with the numbers of what it is about.

    `new` is None where the row was not changed.
    """
    kind = _KINDS.get(type(new))
    if kind is None or new.state == old.state:
        return
    about = {name: getattr(new, column, None) for column, name in _ABOUT.items()}
    why = next((found for name in _WHY if (found := getattr(new, name, None))), "")
    _LOG.info(
        "bench: {kind} {number} is {state}",
        **{name: value for name, value in about.items() if value is not None} | {kind: new.id},
        kind=kind,
        number=new.id,
        state=str(new.state),
        because=one_line(str(why)),
    )
