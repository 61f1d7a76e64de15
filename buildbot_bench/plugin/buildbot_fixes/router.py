"""The watch over a master's connection to the WAMP router, which links the masters.

Buildbot 4.3 tries to connect once, when it starts, and says nothing when the router is not there;
it stops all its services, but not its process, when the connection is lost.
"""

from typing import Any

from twisted.internet.defer import maybeDeferred
from twisted.logger import Logger

_LOG = Logger()

# A router that answers does so within a second.
RETRY_S = 15.0


class RouterWatch:
    """Tries again until the router is there, and says when it is not."""

    def __init__(self, master: Any) -> None:
        self._wamp = master.wamp
        self._reactor = master.reactor
        self._tried_at = master.reactor.seconds()
        self._said = False

    @property
    def is_lost(self) -> bool:
        """Whether a connection that there was is gone; Buildbot makes no other."""
        session = self._wamp.service
        return session is not None and not session.leaving and not session.is_attached()

    @property
    def trouble(self) -> str:
        """Why this master does not hear the others; empty when it does."""
        session = self._wamp.service
        if session is not None and session.is_attached():
            return ""
        return f"it is not connected to the router {self._wamp.router_url}"

    async def look(self) -> None:
        """Connect again if no connection came about."""
        if not self.trouble or self.is_lost:
            if self._said:
                _LOG.info("bench: the router {url} is there", url=self._wamp.router_url)
            self._said = False
            return
        if self._reactor.seconds() - self._tried_at < RETRY_S:
            return
        self._tried_at = self._reactor.seconds()
        if not self._said:
            self._said = True
            _LOG.warn(
                "bench: there is no router at {url}: builds do not start and pages do not follow"
                " until it is there; start crossbar, see docs/how-to/several-masters.md",
                url=self._wamp.router_url,
            )
        app = self._wamp.app
        await maybeDeferred(app.stopService)
        app.startService()
