"""How what fails is tried again: a row, a job of the lab, a delivery; it asks for nothing itself.

A row that fails comes again in the next cycle and holds up no other. A delivery comes again after a
wait. A probe is one job on the lab: builds that end before the job does are followed by others that
attach to it; a job that the lab itself gave up is followed by another probe, of the next round.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from twisted.application.internet import backoffPolicy
from twisted.python import log

from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow

# Infrastructure that fails this often in a row wants a person.
MAX_ATTEMPTS = 3


def recorded_of(rows: Iterable[IterationRow]) -> int:
    """How many iterations some rows are of: each has a row for each of its units."""
    return len({row.ordinal for row in rows})


def may_have_another_job(probe: ProbeRow) -> bool:
    """Whether what the lab still owes may become a job of its own, when it gave this one up."""
    return probe.round + 1 < MAX_ATTEMPTS


def may_be_followed_again(probe: ProbeRow, recorded: int) -> bool:
    """Whether another build may attach to the job, when this one ended before it.

    Each iteration that was `recorded` makes up for one build: those in a row count that brought
    nothing.
    """
    return probe.attempt - probe.round + 1 < MAX_ATTEMPTS + recorded


class HasId(Protocol):
    """A row of a table."""

    @property
    def id(self) -> int:
        """The row's primary key."""


Row = TypeVar("Row", bound=HasId)


async def for_each(rows: Iterable[Row], work: Callable[[Row], Awaitable[None]], what: str) -> None:
    """Do the work for each row; what fails is logged, and comes again with the next cycle."""
    for row in rows:
        try:
            await work(row)
        except Exception:  # noqa: BLE001 - a broken row is one row's trouble
            log.err(None, f"bench: {what} {row.id} failed; the next cycle tries again")


RETRY_FIRST_S = 60.0
RETRY_MOST_S = 3600.0

_policy = backoffPolicy(RETRY_FIRST_S, RETRY_MOST_S, factor=2.0, jitter=lambda: 0.0)


def wait_s(attempts: int) -> float:
    """Longer after each of so many attempts, at least one; never above an hour."""
    return float(_policy(attempts - 1))
