"""How what is made for a request is sent, or its failure; it needs no page."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.web import server
from twisted.web.resource import Resource

_LOG = Logger()


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
        """Say that it failed; why stands in the master's log alone."""
        _LOG.failure("while {page} was made", failure=failure, page=type(self).__name__)
        request.setResponseCode(500)
        return b""


def _send(request: Any, body: bytes) -> None:
    if body:
        request.write(body)
    request.finish()
