"""A series under plugins/bench/history/TESTBED/WORKLOAD, as JSON for a chart; it only reads.

It is none of Buildbot's REST resources, for Buildbot compresses their answers anew each time, in
the thread that does all else: half a second for what the first view of a long life takes.
"""

from __future__ import annotations

import gzip
from typing import Any

from twisted.web.http import CACHED
from twisted.web.resource import Resource

from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.pages.answer import Answer
from buildbot_bench.plugin.pages.histories import histories_of


class HistoryTexts(Resource):
    """A page for each testbed and workload; what nobody measured is a series without points."""

    def __init__(self, master: Any, *names: str) -> None:
        super().__init__()
        self._master = master
        self._names = names

    def getChild(self, name: bytes, request: Any) -> Resource:
        """First a testbed's, then a workload's."""
        names = (*self._names, name.decode("utf-8", "replace"))
        return (
            _Series(self._master, *names) if len(names) == 2 else type(self)(self._master, *names)
        )


class _Series(Answer):
    def __init__(self, master: Any, testbed: str, workload: str) -> None:
        super().__init__(master)
        self._lane = (testbed, workload)

    async def body(self, request: Any) -> bytes:
        told = await histories_of(self.master).read(farm_of(self.master), *self._lane)
        request.setHeader(b"content-type", b"application/json; charset=utf-8")
        # Kept by the browser, which asks each time whether it is still true.
        request.setHeader(b"cache-control", b"no-cache")
        request.setHeader(b"vary", b"accept-encoding")
        if request.setETag(told.etag) is CACHED:
            return b""
        if b"gzip" not in (request.getHeader(b"accept-encoding") or b""):
            return gzip.decompress(told.compressed)
        request.setHeader(b"content-encoding", b"gzip")
        return told.compressed
