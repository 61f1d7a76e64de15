"""Fetches the patch of a review from its site; it keeps nothing.

What a site answers is anybody's: it has a budget of bytes and of seconds, and leads us nowhere that
only this machine can reach.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urljoin, urlsplit

import treq
from twisted.internet import defer, error, reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.web.client import PotentialDataLoss, ResponseDone, ResponseFailed
from twisted.web.error import SchemeNotSupported

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.patch import MOST_BYTES, check_patch

TIMEOUT_S = 30.0  # for all of it, redirects included
# Phabricator's own two: to the file, and to the domain that files have.
MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_TOO_LATE = (defer.CancelledError, defer.TimeoutError, error.TimeoutError, TimeoutError)
_NO_ANSWER = (
    *_TOO_LATE,
    error.ConnectError,
    error.ConnectionLost,
    error.ConnectionDone,
    error.DNSLookupError,
    ResponseFailed,
    SchemeNotSupported,
    socket.gaierror,
    ValueError,
)


async def fetch_review(site: str, number: int, *, timeout_s: float = TIMEOUT_S) -> bytes:
    """The newest diff of a review, as the site gives it for download.

    Raises:
        UsageError: There is no such review, or it is no patch.
        InfraError: The site does not answer within `timeout_s`, or not with what was asked for.
    """
    name, hint = f"D{number}", f"or fetch it by hand and write +file:D{number}.diff"
    url = f"{site.rstrip('/')}/{name}?download=true"
    try:
        code, body = await Deferred.fromCoroutine(_fetched(url)).addTimeout(timeout_s, reactor)
    except _NO_ANSWER as reason:
        raise InfraError(f"cannot fetch {name} from {site}: {_why(reason)}", hint=hint) from reason
    if code == 404:
        raise UsageError(f"{site} has no review {name}", hint="check its number")
    if code != 200:
        raise InfraError(f"{site} answers {name} with HTTP {code}", hint=hint)
    check_patch(body, f"what {site} gives for {name}")
    return body


async def _fetched(first: str) -> tuple[int, bytes]:
    """The status and the body at a URL, or where it leads; no body for another status than 200.

    Raises:
        ValueError: It leads where it must not, or too far.
    """
    url = first
    for _ in range(MOST_REDIRECTS + 1):
        response = await treq.get(url, unbuffered=True, allow_redirects=False, persistent=False)
        reader = _Reader(most=MOST_BYTES if response.code == 200 else 0)
        response.deliverBody(reader)
        if response.code not in _REDIRECTS:
            return response.code, await reader.done
        reader.done.addErrback(lambda _: None)
        reader.hang_up()
        (location,) = response.headers.getRawHeaders("location") or [""]
        url = urljoin(url, location)
        await _require_public(first, url)
    raise ValueError(f"it redirects more than {MOST_REDIRECTS} times")


async def _require_public(first: str, url: str) -> None:
    """See that a redirect leads to the same site, or to one that anybody can reach.

    Raises:
        ValueError: It leads to another kind of URL, out of TLS, or into a private network.
    """
    here, there = urlsplit(first), urlsplit(url)
    shown = one_line(url, columns=80)
    if there.scheme not in {"https", here.scheme} or not there.hostname:
        raise ValueError(f"it redirects to {shown}")
    if there.netloc == here.netloc:
        return
    found: Any = await deferToThread(socket.getaddrinfo, there.hostname, None)
    if not _are_public(address[4][0] for address in found):
        raise ValueError(f"it redirects into a private network: {shown}")


def _are_public(addresses: Iterable[str]) -> bool:
    return all(ip_address(address.partition("%")[0]).is_global for address in addresses)


def _why(reason: BaseException) -> str:
    causes = [failure.value for failure in getattr(reason, "reasons", ())] or [reason]
    if any(isinstance(cause, _TOO_LATE) for cause in causes):
        return "no answer in time"
    return str(causes[0]) or type(causes[0]).__name__


class _Reader(Protocol):
    """Collects a body, and hangs up when it is longer than what is taken."""

    def __init__(self, *, most: int) -> None:
        self.done = defer.Deferred[bytes](lambda _: self.hang_up())
        self._body = bytearray()
        self._most = most

    def dataReceived(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > self._most:
            self.hang_up()
            self._end()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if reason.check(ResponseDone, PotentialDataLoss):
            self._end()
        elif not self.done.called:
            self.done.errback(reason)

    def _end(self) -> None:
        if not self.done.called:
            self.done.callback(bytes(self._body))

    def hang_up(self) -> None:
        """Read no more."""
        if self.transport is not None:
            self.transport.loseConnection()
