"""Fetches the raw patch of a Phabricator review; it knows neither tables nor builders."""

from __future__ import annotations

import treq
from twisted.internet import defer, error, reactor
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import PotentialDataLoss, ResponseDone, ResponseFailed

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.patch import MOST_BYTES, check_patch

TIMEOUT_S = 30.0

_TOO_LATE = (defer.CancelledError, error.TimeoutError, TimeoutError)
_NO_ANSWER = (
    *_TOO_LATE,
    error.ConnectError,
    error.ConnectionLost,
    error.ConnectionDone,
    error.DNSLookupError,
    ResponseFailed,
)


async def fetch_review(site: str, number: int, *, timeout_s: float = TIMEOUT_S) -> bytes:
    """The newest diff of a review, as the site gives it for download.

    Raises UsageError when there is no such review or it is no patch, and InfraError when the site
    does not answer within `timeout_s`, or not with what was asked for.
    """
    name, hint = f"D{number}", f"or fetch it by hand and write +file:D{number}.diff"
    url = f"{site.rstrip('/')}/{name}?download=true"
    try:
        response = await treq.get(url, timeout=timeout_s, unbuffered=True)
        if response.code == 404:
            raise UsageError(f"{site} has no review {name}", hint="check its number")
        if response.code != 200:
            raise InfraError(f"{site} answers {name} with HTTP {response.code}", hint=hint)
        reader = _Reader()
        response.deliverBody(reader)
        body = await reader.done.addTimeout(timeout_s, reactor)
    except _NO_ANSWER as reason:
        raise InfraError(f"cannot fetch {name} from {site}: {_why(reason)}", hint=hint) from reason
    check_patch(body, f"what {site} gives for {name}")
    return body


def _why(reason: BaseException) -> str:
    causes = [failure.value for failure in getattr(reason, "reasons", ())] or [reason]
    if any(isinstance(cause, _TOO_LATE) for cause in causes):
        return "no answer in time"
    return str(causes[0]) or type(causes[0]).__name__


class _Reader(Protocol):
    """Collects a body, and hangs up when it is longer than what is taken."""

    def __init__(self) -> None:
        self.done = defer.Deferred[bytes](lambda _: self._hang_up())
        self._body = bytearray()

    def dataReceived(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > MOST_BYTES:
            self._hang_up()
            self._end()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if reason.check(ResponseDone, PotentialDataLoss):
            self._end()
        elif not self.done.called:
            self.done.errback(reason)

    def _end(self) -> None:
        if not self.done.called:
            self.done.callback(bytes(self._body))

    def _hang_up(self) -> None:
        if self.transport is not None:
            self.transport.loseConnection()
