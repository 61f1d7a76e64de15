"""Log entries for changes of a row's state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from twisted.logger import Logger

from buildbot_bench.core.legible import one_line
from buildbot_bench.plugin.db.pooled import PooledStore

_LOG = Logger()
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


class Stateful(Protocol):
    """A row that is in one of some states."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def state(self) -> str:
        """One of its kind's states."""


Row = TypeVar("Row", bound=Stateful)
P = ParamSpec("P")
Change = Callable[Concatenate[PooledStore, Row, P], Awaitable[Row | None]]


def telling(kind: str, change: Change[Row, P]) -> Change[Row, P]:
    """The method, which also logs each new state of a row of that kind."""

    @wraps(change)
    async def told(
        store: PooledStore, row: Row, /, *args: P.args, **columns: P.kwargs
    ) -> Row | None:
        changed = await change(store, row, *args, **columns)
        if changed is not None and changed.state != row.state:
            tell(kind, changed)
        return changed

    return told


def tell(kind: str, row: Stateful) -> None:
    """Log the state of a row of that kind, with the numbers of what it is about."""
    about = {name: getattr(row, column, None) for column, name in _ABOUT.items()}
    why = next((found for name in _WHY if (found := getattr(row, name, None))), "")
    _LOG.info(
        "bench: {kind} {number} is {state}",
        **{name: value for name, value in about.items() if value is not None} | {kind: row.id},
        kind=kind,
        number=row.id,
        state=str(row.state),
        because=one_line(str(why)),
    )
