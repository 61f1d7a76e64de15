"""A database whose disk is full for a while, from the first statement of some kind on."""

import re
import sqlite3
import time
from typing import Any

import sqlalchemy as sa

_WRITES = re.compile(r"INSERT|UPDATE|DELETE", re.IGNORECASE)


class FullDisk:
    """Has all that is written to an engine's database fail, as on a disk without a byte free."""

    def __init__(self, engine: sa.Engine) -> None:
        self._begins_at: re.Pattern[str] | None = None
        self._lasts_s = 0.0
        self._until_s = 0.0
        sa.event.listen(engine, "before_cursor_execute", self._look)

    def fill_at(self, statement: str, *, lasts_s: float) -> None:
        """Be full from the first statement that begins so."""
        self._begins_at = re.compile(statement)
        self._lasts_s = lasts_s

    @property
    def is_over(self) -> bool:
        """Whether it has been full since `fill_at`, and is so no more."""
        return self._begins_at is None and time.monotonic() > self._until_s

    def _look(self, _conn: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if self._begins_at is not None and self._begins_at.match(statement):
            self._begins_at = None
            self._until_s = time.monotonic() + self._lasts_s
        if time.monotonic() < self._until_s and _WRITES.match(statement):
            reason = sqlite3.OperationalError("database or disk is full")
            raise sa.exc.OperationalError(statement, None, reason)
