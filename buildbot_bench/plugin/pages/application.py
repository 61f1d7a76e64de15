"""Buildbot's www plugin `bench`: the browser's files, pictures and metrics; it only reads.

Buildbot's authorisation does not reach what lies under /plugins/, so nothing here changes anything:
the pages act through the REST control methods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from buildbot.www.plugin import Application
from twisted.internet.defer import Deferred
from twisted.python import log
from twisted.web import server
from twisted.web.resource import Resource
from twisted.web.static import File

import buildbot_bench
from buildbot_bench.plugin import data_pages
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.pages.badge import badge
from buildbot_bench.plugin.pages.flamegraph import FlameGraphs
from buildbot_bench.plugin.pages.metrics import metrics
from buildbot_bench.plugin.pages.series import SeriesCache

# What programs may expect of a report.
_SCHEMA = Path(buildbot_bench.__file__).with_name("report.schema.json")

Text = Callable[[Farm], Awaitable[str]]


class BenchPages(Application):
    """What `"plugins": {"bench": {}}` in master.cfg stands for."""

    def __init__(self) -> None:
        # Buildbot's own constructor reads the version from a file beside the package.
        self.description = "Buildbot Bench"
        self.version = version("buildbot-bench")
        self.static_dir = Path(__file__).with_name("static")
        self.resource = _Fresh(str(self.static_dir))
        self.ui = True

    def setMaster(self, master: Any) -> None:
        """Serve this master's farm; Buildbot says so again at each reconfiguration."""
        super().setMaster(master)
        data_pages.register(master)
        measured = partial(metrics, cache=SeriesCache())
        self.resource.putChild(_SCHEMA.name.encode(), _Fresh(str(_SCHEMA)))
        self.resource.putChild(b"metrics", _Page(master, measured, b"text/plain; version=0.0.4"))
        self.resource.putChild(b"flamegraph", FlameGraphs(master))
        self.resource.putChild(b"badge.svg", _Page(master, badge, b"image/svg+xml"))


class _Fresh(File):
    """Files that a browser asks for again each time, lest it mixes two releases' modules."""

    def render_GET(self, request: Any) -> Any:
        request.setHeader(b"cache-control", b"no-cache")
        return super().render_GET(request)

    def directoryListing(self) -> Any:
        """There is nothing to browse."""
        return self.childNotFound


class _Page(Resource):
    """A text that is made when it is asked for."""

    isLeaf = True

    def __init__(self, master: Any, text: Text, kind: bytes) -> None:
        super().__init__()
        self._master = master
        self._text = text
        self._kind = kind

    def render_GET(self, request: Any) -> int:
        Deferred.fromCoroutine(self._answer(request)).addErrback(self._failed, request)
        return int(server.NOT_DONE_YET)

    async def _answer(self, request: Any) -> None:
        body = (await self._text(farm_of(self._master))).encode()
        request.setHeader(b"content-type", self._kind + b"; charset=utf-8")
        request.setHeader(b"cache-control", b"no-cache")
        request.write(body)
        request.finish()

    @staticmethod
    def _failed(failure: Any, request: Any) -> None:
        """Say that it failed; why stands in the master's log alone."""
        log.err(failure, "while a page was made")
        request.setResponseCode(500)
        request.finish()


ep = BenchPages()
