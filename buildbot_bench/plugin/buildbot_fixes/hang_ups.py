"""Reconnection to a PostgreSQL server that hangs up or is away for some minutes.

Buildbot 4.3 takes such an error for the end of its work: a build that begins or ends at that moment
never ends, and its worker gets no other build until the master restarts. For MySQL Buildbot asks
again for up to a day; the engine here asks again for `PATIENCE_S`.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from twisted.logger import Logger

_LOG = Logger()

# A server of many connections takes a minute or two to restart, one that is upgraded some more.
PATIENCE_S = 600.0
_BETWEEN_TRIES_S = 1.0

_T = TypeVar("_T")


def outlive_hang_ups(engine: Any, *, patience_s: float = PATIENCE_S) -> Callable[[], None]:
    """Have the engine of `master.db.pool` ask again, on a new connection, when one went.

    A new connection is waited for, too, in the thread that asks for it: `patience_s` after the
    server went all of them fail, until it answers again. A commit that failed may have been done,
    and is not repeated: it is the one without a statement.

    Returns:
        What ends all waiting, for a master that stops: its threads end before it does.
    """
    known = engine.should_retry

    def should_retry(error: sa.exc.OperationalError) -> bool:
        return known(error) or (error.connection_invalidated and error.statement is not None)

    engine.should_retry = should_retry
    outage = _Outage(patience_s)
    if engine.dialect.name == "postgresql":

        @sa.event.listens_for(engine, "do_connect")
        def connect(dialect: Any, _record: Any, arguments: Any, named: Any) -> Any:
            refused = dialect.loaded_dbapi.OperationalError
            return outage.outlived(lambda: dialect.connect(*arguments, **named), refused)

    return outage.no_longer.set


class _Outage:
    """The time for which a server lets nobody in; all threads wait for one and the same."""

    def __init__(self, patience_s: float) -> None:
        self.no_longer = threading.Event()
        self._patience_s = patience_s
        self._since_s: float | None = None

    def outlived(self, connect: Callable[[], _T], refused: type[Exception]) -> _T:
        """A connection, when there is one; raises the last refusal when patience ends."""
        while True:
            try:
                made = connect()
            except refused as error:
                if not self._is_worth_waiting(error):
                    raise
            else:
                self._since_s = None
                return made

    def _is_worth_waiting(self, error: Exception) -> bool:
        now_s = time.monotonic()
        if self._since_s is None:
            self._since_s = now_s
            _LOG.warn(
                "bench: the database lets nobody in; the master asks again for {seconds:.0f} s:"
                " {error}",
                seconds=self._patience_s,
                error=error,
            )
        left_s = self._since_s + self._patience_s - now_s
        return left_s > 0 and not self.no_longer.wait(min(_BETWEEN_TRIES_S, left_s))
