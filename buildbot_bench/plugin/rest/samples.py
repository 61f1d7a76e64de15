"""The REST resource of a series as comma-separated values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from buildbot.data import base
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.threads import deferToThread

from buildbot_bench.core.csv_text import csv_text
from buildbot_bench.core.limits import EXPORTED_ROWS
from buildbot_bench.plugin.db.series import ExportRow
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.series import first_branch
from buildbot_bench.plugin.queries import history
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, branch_asked

_COLUMNS = [field.name for field in fields(ExportRow)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A file's text; `is_cut` says that older rows are left out."""

    text: str
    is_cut: bool


async def samples_csv(
    farm: Farm,
    testbed: str,
    workload: str,
    branch: str,
    *,
    limit: int = EXPORTED_ROWS,
    offset: int = 0,
) -> Written:
    """One line an iteration on a branch, oldest first, under a line that names the columns.

    They are the newest `limit`, but for the `offset` newest. So many take seconds to write, during
    which the reactor answers others.
    """
    rows = await farm.store.export(testbed, workload, branch, limit=limit + 1, offset=offset)
    is_cut = len(rows) > limit
    return Written(text=await deferToThread(as_csv, rows[1:] if is_cut else rows), is_cut=is_cut)


def as_csv(rows: list[ExportRow]) -> str:
    """The rows under a line that names the columns."""
    return csv_text(_COLUMNS, ([getattr(row, name) for name in _COLUMNS] for row in rows))


class SamplesEndpoint(BenchEndpoint):
    """A series as comma-separated values."""

    kind = base.EndpointKind.RAW
    pathPatterns = ["/bench/samples/s:testbed/s:workload/csv"]
    takes_branch = True
    most_rows = EXPORTED_ROWS

    def __init__(self, rtype: Any, master: Any) -> None:
        super().__init__(rtype, master)
        # Threads that write thousands of rows at once take the interpreter from the reactor.
        self._one_at_a_time = DeferredLock()

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The file of a series that is or was measured: its name goes into a header."""
        farm = farm_of(self.master)
        asked = kwargs | {"branch": await branch_asked(farm, resultSpec)}
        known = await history.series_list(farm)
        if not any(asked.items() <= series.items() for series in known):
            return None
        limit = self.most_rows if resultSpec.limit is None else resultSpec.limit
        offset = resultSpec.offset or 0
        written: Written = await self._one_at_a_time.run(
            lambda: Deferred.fromCoroutine(samples_csv(farm, **asked, limit=limit, offset=offset))
        )
        name = "{testbed}-{workload}".format(**kwargs)
        if asked["branch"] != await first_branch(farm):
            name = f"{asked['branch'].replace('/', '-')}-{name}"
        if offset:
            name += f"-without-newest-{offset}"
        if written.is_cut:
            name += f"-newest-{limit}"
        return {"raw": written.text, "mime-type": "text/csv", "filename": f"{name}.csv"}
