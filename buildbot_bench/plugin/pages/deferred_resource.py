"""Web resources whose body is made on request, once for all clients that wait."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger
from twisted.web import server
from twisted.web.http import SERVICE_UNAVAILABLE
from twisted.web.resource import Resource

from buildbot_bench.core.errors import NotYetError
from buildbot_bench.plugin.farm.farm import RETRY_AFTER

_LOG = Logger()

KEEP_S = 5.0
"""Prometheus asks each 15 s, and a person who reloads a page sees no change within less."""
_MOST_KEPT = 32
Made = TypeVar("Made")


class SharedAnswers(Generic[Made]):
    """Answers by name, each made for all who ask within some seconds, and one at a time."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, Made]] = OrderedDict()
        self._one_at_a_time = DeferredLock()

    async def get(self, name: bytes, make: Callable[[], Awaitable[Made]]) -> Made:
        """The answer of that name: the one of the last seconds, else a new one."""
        answer: Made = await self._one_at_a_time.run(
            lambda: Deferred.fromCoroutine(self._get(name, make))
        )
        return answer

    async def _get(self, name: bytes, make: Callable[[], Awaitable[Made]]) -> Made:
        made_at, answer = self._kept.pop(name, (-KEEP_S, None))
        if answer is None or self._clock.seconds() - made_at >= KEEP_S:
            answer = await make()
            made_at = self._clock.seconds()
        self._kept[name] = made_at, answer
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return answer


class DeferredResource(Resource):
    """A page whose body is made when it is asked for; `body` also sets what headers it wants."""

    isLeaf = True

    def __init__(self, master: Any) -> None:
        super().__init__()
        self.master = master

    async def body(self, request: Any) -> bytes:
        """What is sent; nothing else is known of it here."""
        raise NotImplementedError

    def render_GET(self, request: Any) -> int:
        """Have it made, and send it unless nobody waits for it any more."""
        disconnected: list[object] = []
        request.notifyFinish().addErrback(disconnected.append)
        made = Deferred.fromCoroutine(self.body(request))
        made.addErrback(self._failed, request)
        made.addCallback(lambda body: None if disconnected else _send(request, body))
        made.addErrback(lambda failure: _LOG.failure("while a page was sent", failure=failure))
        return int(server.NOT_DONE_YET)

    def _failed(self, failure: Any, request: Any) -> bytes:
        """Say that it failed; why stands in the master's log alone, unless it succeeds later."""
        if failure.check(NotYetError):
            request.setResponseCode(SERVICE_UNAVAILABLE)
            request.setHeader(b"retry-after", RETRY_AFTER)
            request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            return f"{failure.value}\n".encode()
        _LOG.failure("while {page} was made", failure=failure, page=type(self).__name__)
        request.setResponseCode(500)
        return b""


def _send(request: Any, body: bytes) -> None:
    if body:
        request.write(body)
    request.finish()
