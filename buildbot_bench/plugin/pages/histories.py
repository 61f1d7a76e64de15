"""Series as compressed JSON for the pages, read before a client asks.

Ten thousand revisions take the database a quarter of a second, the text some 15 bytes a revision.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.threads import deferToThread
from twisted.web.http import CACHED
from twisted.web.resource import Resource

from buildbot_bench.core.json_model import Json
from buildbot_bench.core.metric import COSTS
from buildbot_bench.plugin.db.commits import Segment
from buildbot_bench.plugin.db.finding_rows import QuarantineRow
from buildbot_bench.plugin.db.series import PointRow
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm, farm_of
from buildbot_bench.plugin.farm.series import all_series, first_branch, watched_branches
from buildbot_bench.plugin.pages.deferred_resource import DeferredResource
from buildbot_bench.plugin.queries.commit_views import CommitTimes
from buildbot_bench.plugin.queries.history import (
    Mark,
    SeriesPoints,
    as_arrays,
    heat_map,
    marks_of,
    read_costs,
    read_series,
)

# Of two iterations the later number may be in the table first: so many back, one is no surprise.
_LATE = 1000
# Histories of named values, which are read when somebody asks.
_MOST_OF_VALUES = 50
# The digits of measurements are noise: more effort takes ten times as long and saves a twentieth.
_EFFORT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredVersion:
    """All that a series' points depend on; while it is the same, so are they."""

    line: tuple[Segment, ...]
    iteration: int
    quarantines: tuple[QuarantineRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryVersion:
    """All that a series' text depends on; while it is the same, so is the text."""

    measured: MeasuredVersion
    marks: tuple[Mark, ...]
    dated_late: int


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptHistory:
    """A series as compressed JSON, by what it is known again, and its newest point."""

    news: HistoryVersion
    compressed: bytes
    etag: bytes
    newest: PointRow | None


class Histories:
    """Tells series, which are read again only when there is news of them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str, str, str], KeptHistory] = {}
        self._iterations: dict[tuple[str, str], int] = {}
        self._times = CommitTimes()
        # Threads that read thousands of rows at once take the interpreter from each other.
        self._one_at_a_time = DeferredLock()

    async def ahead(self, farm: Farm) -> int:
        """Read what is measured and not known yet, and forget what is not measured any more.

        Gives how many series are kept.
        """
        wanted = [
            (series.testbed, series.workload, branch)
            for branch in await watched_branches(farm)
            for series in all_series(farm.workflow.bench_jobs)
            if series.measures(branch)
        ]
        for series in wanted:
            await self.read(farm, *series)
        for key in [key for key in self._kept if key[:3] not in wanted]:
            del self._kept[key]
        return len(self._kept)

    async def read(
        self,
        farm: Farm,
        testbed: str,
        workload: str,
        branch: str | None = None,
        *,
        cost: str = "",
        value: str = "",
    ) -> KeptHistory:
        """The series on a branch, or on the first, as it is now.

        One without points when there is none of that name. With a `cost`, a name of COSTS, it is
        what its commits cost, with a `value` what its runs gave under that name.
        """
        asked = (testbed, workload, await first_branch(farm) if branch is None else branch)
        kept = self._kept.get((*asked, cost, value))
        if kept is not None and kept.news == await self._news(farm, *asked, value):
            return kept
        return await self._one_at_a_time.run(
            lambda: Deferred.fromCoroutine(self._read(farm, *asked, cost=cost, value=value))
        )

    async def newest(self, farm: Farm, testbed: str, workload: str, branch: str) -> PointRow | None:
        """The newest point of a series; what the farm says of others is no news of it."""
        kept = self._kept.get((testbed, workload, branch, "", ""))
        measured = await self._measured(farm, testbed, workload, branch)
        if kept is None or kept.news.measured != measured:
            kept = await self.read(farm, testbed, workload, branch)
        return kept.newest

    async def _read(
        self, farm: Farm, testbed: str, workload: str, branch: str, *, cost: str, value: str
    ) -> KeptHistory:
        # Asked for before the series is read: what comes meanwhile is news the next time.
        news = await self._news(farm, testbed, workload, branch, value)
        kept = self._kept.get((testbed, workload, branch, cost, value))
        if kept is not None and kept.news == news:
            return kept  # whoever had the lock has read it
        if metric := COSTS.get(cost):
            series = await read_costs(farm, (testbed, workload), branch, metric)
        else:
            series = await read_series(farm, (testbed, workload), branch, value=value)
        times = await self._times.of(farm, branch, series.points)
        named: Json = {"testbed": testbed, "workload": workload, "branch": branch, "cost": cost}
        names = await farm.store.value_names(testbed, workload)
        named |= {"value": value, "names": names}
        kept = await deferToThread(_compressed_history, named, series, news, times)
        if series.points:  # nobody fills the memory by asking for what there is not
            of_values = [key for key in self._kept if key[-1]]
            for key in of_values[: len(of_values) - _MOST_OF_VALUES + 1] if value else ():
                del self._kept[key]  # the oldest
            self._kept[testbed, workload, branch, cost, value] = kept
        return kept

    async def _news(
        self, farm: Farm, testbed: str, workload: str, branch: str, value: str = ""
    ) -> HistoryVersion:
        return HistoryVersion(
            measured=await self._measured(farm, testbed, workload, branch),
            marks=tuple(await marks_of(farm, (testbed, workload), branch, value)),
            dated_late=await self._times.found_late(farm, branch),
        )

    async def _measured(
        self, farm: Farm, testbed: str, workload: str, branch: str
    ) -> MeasuredVersion:
        newest = max(self._iterations.values(), default=0)
        found = await farm.store.newest_iterations(newest - _LATE)
        for series, iteration in found.items():
            self._iterations[series] = max(iteration, self._iterations.get(series, 0))
        return MeasuredVersion(
            line=await farm.store.line_of(branch),
            iteration=self._iterations.get((testbed, workload), 0),
            quarantines=tuple(await farm.store.quarantines(testbed)),
        )


def _text(view: Json) -> bytes:
    return json.dumps({"views": [view], "meta": {}}, separators=(",", ":")).encode()


def histories_of(master: Any) -> Histories:
    """Those of a master's farm."""
    found: Histories = master.service_manager.namedServices[SERVICE_NAME].histories
    return found


def _compressed_history(
    named: Json, series: SeriesPoints, news: HistoryVersion, times: Sequence[int]
) -> KeptHistory:
    view = named | as_arrays(series, news.marks if series.noise else (), times)
    text = _text(view)
    return KeptHistory(
        news=news,
        compressed=gzip.compress(text, _EFFORT, mtime=0),
        etag=f'"{sha256(text).hexdigest()[:32]}"'.encode(),
        newest=series.points[-1] if series.points else None,
    )


class HistoryTexts(Resource):
    """A page for each testbed and workload, of the first branch or, with ?branch=, of another.

    With ?cost=, a name of COSTS, it is what commits cost, in builds or in boots there; with ?value=
    what runs gave under that name; with ?heat=1 a map of all named values of the last commits. What
    nobody measured is a series without points.
    """

    def __init__(self, master: Any, *names: str) -> None:
        super().__init__()
        self._master = master
        self._names = names

    def getChild(self, name: bytes, request: Any) -> Resource:
        """First a testbed's, then a workload's."""
        names = (*self._names, name.decode("utf-8", "replace"))
        return (
            _SeriesText(self._master, *names)
            if len(names) == 2
            else type(self)(self._master, *names)
        )


class _SeriesText(DeferredResource):
    def __init__(self, master: Any, testbed: str, workload: str) -> None:
        super().__init__(master)
        self._series = (testbed, workload)

    async def body(self, request: Any) -> bytes:
        asked = {
            name: request.args[name.encode()][0].decode("utf-8", "replace")
            for name in ("branch", "cost", "value")
            if name.encode() in request.args
        }
        if asked.get("cost") not in COSTS:
            asked.pop("cost", None)  # nobody fills the memory by asking for what there is not
        farm = farm_of(self.master)  # first: before there is one, there are no histories either
        request.setHeader(b"content-type", b"application/json; charset=utf-8")
        if b"heat" in request.args:
            branch = asked.get("branch") or await first_branch(farm)
            view = await heat_map(farm, *self._series, branch)
            return await deferToThread(_text, view)
        kept = await histories_of(self.master).read(farm, *self._series, **asked)
        # Kept by the browser, which asks each time whether it is still true.
        request.setHeader(b"cache-control", b"no-cache")
        request.setHeader(b"vary", b"accept-encoding")
        if request.setETag(kept.etag) is CACHED:
            return b""
        if b"gzip" not in (request.getHeader(b"accept-encoding") or b""):
            return gzip.decompress(kept.compressed)
        request.setHeader(b"content-encoding", b"gzip")
        return kept.compressed
