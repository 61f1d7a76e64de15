"""The download of a review's patch from its site.

A site's answer is hostile: its bytes and seconds are bounded, and addresses that only this machine
can reach are refused.
"""

import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urljoin, urlsplit

from buildbot.util.twisted import async_to_deferred
from treq.client import HTTPClient
from twisted.internet import defer, error, reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP6ClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IProtocolFactory, IStreamClientEndpoint
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.web.client import (
    URI,
    Agent,
    BrowserLikePolicyForHTTPS,
    PotentialDataLoss,
    ResponseDone,
    ResponseFailed,
)
from twisted.web.error import SchemeNotSupported
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

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


Resolve = Callable[[str], Iterable[str]]


def addresses_of(name: str) -> list[str]:
    """The addresses of a name, as the system knows them; socket.gaierror when there is none."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


async def fetch_review(
    site: str, number: int, *, timeout_s: float = TIMEOUT_S, resolve: Resolve = addresses_of
) -> bytes:
    """The newest diff of a review, as the site gives it for download; `resolve` looks names up."""
    name, hint = f"D{number}", f"or fetch it by hand and write +file:D{number}.diff"
    url = f"{site.rstrip('/')}/{name}?download=true"
    try:
        code, body = await Deferred.fromCoroutine(_fetched(url, resolve)).addTimeout(
            timeout_s, reactor
        )
    except _NO_ANSWER as reason:
        raise InfraError(f"cannot fetch {name} from {site}: {_why(reason)}", hint=hint) from reason
    if code == 404:
        raise UsageError(f"{site} has no review {name}", hint="check its number")
    if code != 200:
        raise InfraError(f"{site} answers {name} with HTTP {code}", hint=hint)
    check_patch(body, f"what {site} gives for {name}")
    return body


async def _fetched(first: str, resolve: Resolve) -> tuple[int, bytes]:
    """The status and the body at a URL, or where it leads; no body for another status than 200."""
    url = first
    for _ in range(MOST_REDIRECTS + 1):
        there = _Endpoints(await _addresses(first, url, resolve))
        client = HTTPClient(Agent.usingEndpointFactory(reactor, there))
        response = await client.get(url, unbuffered=True, allow_redirects=False)
        reader = _Reader(most=MOST_BYTES if response.code == 200 else 0)
        response.deliverBody(reader)
        if response.code not in _REDIRECTS:
            return response.code, await reader.done
        reader.done.addErrback(lambda _: None)
        reader.hang_up()
        (location,) = response.headers.getRawHeaders("location") or [""]
        url = urljoin(url, location)
    raise ValueError(f"it redirects more than {MOST_REDIRECTS} times")


async def _addresses(first: str, url: str, resolve: Resolve) -> list[str]:
    """Where a URL leads: the first one, or one that leads to the same site, or that is public.

    A name is looked up once, and what is connected to is what was looked at: a server of names
    that answers otherwise a moment later leads nowhere else.
    """
    here, there = urlsplit(first), urlsplit(url)
    shown = one_line(url, columns=80)
    if there.scheme not in {"https", here.scheme} or not there.hostname:
        raise ValueError(f"it redirects to {shown}")
    addresses = list(await deferToThread(resolve, there.hostname))
    if there.netloc != here.netloc and not _are_public(addresses):
        raise ValueError(f"it redirects into a private network: {shown}")
    return addresses


def _are_public(addresses: Iterable[str]) -> bool:
    return all(ip_address(address.partition("%")[0]).is_global for address in addresses)


def _why(reason: BaseException) -> str:
    causes = [failure.value for failure in getattr(reason, "reasons", ())] or [reason]
    if any(isinstance(cause, _TOO_LATE) for cause in causes):
        return "no answer in time"
    return str(causes[0]) or type(causes[0]).__name__


@implementer(IAgentEndpointFactory)
class _Endpoints:
    """Leads to these addresses alone, no matter what a URL's name means by now."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        kinds = {True: TCP6ClientEndpoint, False: TCP4ClientEndpoint}
        ways = [kinds[":" in one](reactor, one, uri.port) for one in self._addresses]
        endpoint = _FirstToConnect(ways)
        if uri.scheme != b"https":
            return endpoint
        # A certificate is that of the name.
        tls = BrowserLikePolicyForHTTPS().creatorForNetloc(uri.host, uri.port)
        return wrapClientTLS(tls, endpoint)


@implementer(IStreamClientEndpoint)
class _FirstToConnect:
    def __init__(self, endpoints: Sequence[IStreamClientEndpoint]) -> None:
        self._endpoints = endpoints

    @async_to_deferred
    async def connect(self, protocol_factory: IProtocolFactory) -> Any:
        for endpoint in self._endpoints[:-1]:
            with suppress(error.ConnectError):
                return await endpoint.connect(protocol_factory)
        return await self._endpoints[-1].connect(protocol_factory)


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
