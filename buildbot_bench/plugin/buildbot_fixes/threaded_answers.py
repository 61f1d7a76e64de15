"""The transmission of an answer by the reactor's thread alone.

Buildbot 4.3 writes an answer from a thread of the pool (its pull request 8224) while the reactor
sends the rest. Twisted's transports allow no second thread: now and then a piece is lost, and the
client waits for a minute and has half an answer (Twisted's issue 9065).
"""

from typing import Any

from twisted.python.threadable import isInIOThread


class ThreadedRequest:
    """A request whose answer other threads may write; what they write waits for `send`."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self._kept: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        """All else is the request's own."""
        return getattr(self._request, name)

    def write(self, data: bytes) -> None:
        """Send it, or keep it when this is not the reactor's thread."""
        if isInIOThread():
            self._request.write(data)
        else:
            self._kept.append(data)

    def send(self) -> None:
        """Send what was kept, at once; the reactor's thread says when all of it is there."""
        if self._kept and not self._request.finished:
            self._request.write(b"".join(self._kept))
        self._kept.clear()
