"""Violations of a farm's invariants, the moment at which the farm is looked at, and who works."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

# The broker looks every 30 s (BENCH_RECONCILE_S) at what ended; a slow machine has twenty such
# looks. A shorter time raises false alarms, a longer one only tells later.
GRACE_S = 600.0
# So many rows are held in memory at a time.
AT_ONCE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """What does not hold: the `row` that contradicts, how it does, and the `next` thing to do."""

    check: str
    row: str
    problem: str
    next: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When the farm was looked at, in seconds since the epoch. `idle`: nothing may wait or run.

    `master_since_s` is since when a master runs, None when none does or it is not known.
    `worked_until_s` is when a master that runs no more was last seen to live.
    """

    now_s: float
    master_since_s: float | None = None
    idle: bool = False
    worked_until_s: float | None = None

    def is_overdue(self, since_s: float | None, grace_s: float = GRACE_S) -> bool:
        """Whether a master had the time to see to what came about then; always of an idle farm."""
        if self.idle:
            return True
        if self.master_since_s is None:
            return False
        return self.now_s - max(since_s or 0.0, self.master_since_s) > grace_s

    def was_missed(self, since_s: float, grace_s: float = GRACE_S) -> bool:
        """Whether a master, the one that runs or one before it, had the time to see to it."""
        worked_s = (self.worked_until_s or 0.0) - since_s
        return self.is_overdue(since_s, grace_s) or worked_s > grace_s


def worked_until_s(conn: sa.Connection) -> float | None:
    """When a master was last seen to live: Buildbot's tell of themselves every minute."""
    masters = sa.table("masters", sa.column("last_active"))
    return conn.execute(sa.select(sa.func.max(masters.c.last_active))).scalar()


def words(*columns: sa.Column[Any]) -> list[sa.ColumnElement[Any]]:
    """Return the columns as plain text, so that unknown words of a state are read, too."""
    return [sa.type_coerce(column, sa.String).label(column.name) for column in columns]


def not_run(
    brid: int | None,
    requests: Mapping[int, float | None],
    since_s: float | None,
    moment: Moment,
) -> str:
    """Why nothing works on an issued row any more; empty when something may.

    `requests` are the ends of Buildbot's requests by their ids, None while one goes on.
    """
    if brid is None or brid not in requests:
        asked = "it names no build request" if brid is None else f"build request {brid} is unknown"
        return asked if moment.is_overdue(since_s) else ""
    ended_at_s = requests[brid]
    if ended_at_s is not None and moment.is_overdue(ended_at_s):
        return f"its build request {brid} has ended"
    return ""
