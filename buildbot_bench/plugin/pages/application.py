"""Buildbot's www plugin `bench`: the browser's files, pictures and metrics; it only reads.

Buildbot's authorisation does not reach what lies under /plugins/, so nothing here changes anything:
the pages act through the REST control methods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from buildbot.www.plugin import Application
from twisted.web.static import File

import buildbot_bench
from buildbot_bench.plugin import data_pages
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.pages.answer import Answer
from buildbot_bench.plugin.pages.badge import badge
from buildbot_bench.plugin.pages.flamegraph import FlameGraphs
from buildbot_bench.plugin.pages.history_text import HistoryTexts
from buildbot_bench.plugin.pages.metrics import metrics

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
        self.resource.putChild(_SCHEMA.name.encode(), _Fresh(str(_SCHEMA)))
        self.resource.putChild(b"metrics", _Page(master, metrics, b"text/plain; version=0.0.4"))
        self.resource.putChild(b"flamegraph", FlameGraphs(master))
        self.resource.putChild(b"history", HistoryTexts(master))
        self.resource.putChild(b"badge.svg", _Page(master, badge, b"image/svg+xml"))


class _Fresh(File):
    """Files that a browser asks for again each time, lest it mixes two releases' modules."""

    def render_GET(self, request: Any) -> Any:
        request.setHeader(b"cache-control", b"no-cache")
        return super().render_GET(request)

    def directoryListing(self) -> Any:
        """There is nothing to browse."""
        return self.childNotFound


class _Page(Answer):
    """A text that is made when it is asked for."""

    def __init__(self, master: Any, text: Text, kind: bytes) -> None:
        super().__init__(master)
        self._text = text
        self._kind = kind

    async def body(self, request: Any) -> bytes:
        text = await self._text(farm_of(self.master))
        request.setHeader(b"content-type", self._kind + b"; charset=utf-8")
        request.setHeader(b"cache-control", b"no-cache")
        return text.encode()


ep = BenchPages()
