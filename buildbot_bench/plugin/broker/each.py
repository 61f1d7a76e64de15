"""One row after the other, each on its own: what is wrong with one must not hold up the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from twisted.python import log


class Numbered(Protocol):
    """A row of a table."""

    @property
    def id(self) -> int:
        """The row's primary key."""


Row = TypeVar("Row", bound=Numbered)


async def for_each(rows: Iterable[Row], work: Callable[[Row], Awaitable[None]], what: str) -> None:
    """Do the work for each row; what fails is logged, and comes again with the next turn."""
    for row in rows:
        try:
            await work(row)
        except Exception:  # noqa: BLE001 - a broken row is one row's trouble
            log.err(None, f"bench: {what} {row.id} failed; the next turn tries again")
