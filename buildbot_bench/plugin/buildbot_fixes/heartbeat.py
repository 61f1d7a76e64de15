"""The heartbeat of a master, which goes on after a beat that failed.

Buildbot 4.3 beats by a `TimerService` (master.py, create_child_services), whose loop ends for good
at the first error of the database; after ten minutes the other masters take this one for dead.
To be filed: "One database error ends a master's heartbeat until it restarts."
"""

from collections.abc import Callable
from typing import Any

from twisted.application.internet import TimerService
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure

_LOG = Logger()


def beat_on(heartbeat: TimerService) -> None:
    """Have a service that has not begun yet call its function again after it failed."""
    beat, args, kwargs = heartbeat.call
    heartbeat.call = (_sturdy, (beat, *args), kwargs)


def _sturdy(beat: Callable[..., Any], *args: Any, **kwargs: Any) -> Deferred[Any]:
    return maybeDeferred(beat, *args, **kwargs).addErrback(_note)


def _note(failure: Failure) -> None:
    _LOG.failure("bench: the master could not say that it is alive; it tries again", failure)
