"""The read-only REST resources of the web pages, under /api/v2/bench."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from buildbot.data import base, types
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.threads import deferToThread

from buildbot_bench.core.gate import Ruling
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.legible import csv_text
from buildbot_bench.core.limits import EXPORTED_ROWS
from buildbot_bench.plugin.broker.commit_queue import said_of
from buildbot_bench.plugin.broker.retention import inventory
from buildbot_bench.plugin.db.rows import SeriesName
from buildbot_bench.plugin.db.series import ExportRow
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.series import Series, all_series, first_branch, watched_branches
from buildbot_bench.plugin.queries import (
    calibration,
    commit_views,
    history,
    judgements,
    overview,
    searches,
)
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS, item_of_farm
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, branch_asked, filtered_by, reading

_COLUMNS = [field.name for field in fields(ExportRow)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A file's text; `is_cut` says that older rows are left out."""

    text: str
    is_cut: bool


async def samples_csv(
    farm: Farm, series: SeriesName, branch: str, *, limit: int = EXPORTED_ROWS, offset: int = 0
) -> Written:
    """One line an iteration on a branch, oldest first, under a line that names the columns.

    They are the newest `limit`, but for the `offset` newest. So many take seconds to write, during
    which the reactor answers others.
    """
    rows = await farm.store.export(series, branch, limit=limit + 1, offset=offset)
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
        series, branch = (kwargs["testbed"], kwargs["workload"]), asked["branch"]
        written: Written = await self._one_at_a_time.run(
            lambda: Deferred.fromCoroutine(
                samples_csv(farm, series, branch, limit=limit, offset=offset)
            )
        )
        name = "{testbed}-{workload}".format(**kwargs)
        if branch != await first_branch(farm):
            name = f"{branch.replace('/', '-')}-{name}"
        if offset:
            name += f"-without-newest-{offset}"
        if written.is_cut:
            name += f"-newest-{limit}"
        return {"raw": written.text, "mime-type": "text/csv", "filename": f"{name}.csv"}


async def kernels(farm: Farm) -> Json:
    """How many built kernels there are, and what bench.yml would have deleted of them now."""
    found = await inventory(farm)
    return {
        "place": farm.workflow.artefacts.place or "the master's disk",
        "count": len(found.stored),
        "bytes": sum(one.size for one in found.stored),
        "needed": sum(one.needed for one in found.stored),
        "expired": len(found.expired),
        "expired_bytes": sum(one.size for one in found.expired),
    }


# What waits longer than these stands there as a number.
HELD_LISTED = 20


async def gates(farm: Farm) -> list[Json]:
    """For each series that has a gate what stands before it on each branch, the newest first."""
    guarded = [series for series in all_series(farm.workflow.bench_jobs) if series.gates]
    branches = await watched_branches(farm)
    return [await _guarded(farm, branch, series) for branch in branches for series in guarded]


async def _guarded(farm: Farm, branch: str, series: Series) -> Json:
    waiting = await farm.store.unmeasured(branch, series.name, limit=WINDOW_COMMITS)
    held = [
        {"label": commit.revision.label, "subject": commit.subject, "why": _why(said)}
        for commit, said in await said_of(farm, branch, series, waiting)
        if Ruling.OPEN not in said.values()
    ]
    return {
        "branch": branch,
        "testbed": series.testbed,
        "workload": series.workload,
        "gates": list(series.gates),
        "held": held[:HELD_LISTED],
        "more": max(len(held) - HELD_LISTED, 0),
    }


def _why(said: Mapping[str, Ruling]) -> str:
    """A gate that has not spoken may still open; when all have, a person or a search may ask."""
    waited_for = [testbed for testbed, ruling in said.items() if ruling is Ruling.WAIT]
    if waited_for:
        return f"waits for the exact metric on {' or '.join(waited_for)}"
    return f"the exact metric on {' and '.join(said)} did not move"


async def no_ops(farm: Farm) -> list[Json]:
    """The newest commits of each branch that are not built for their own sake, and why."""
    built = (await item_of_farm(farm)).built
    return [
        {
            "branch": branch,
            "label": commit.revision.label,
            "subject": commit.subject,
            "why": f"changes no file that the {built} of {commit.no_op_of} is built from",
        }
        for branch in await watched_branches(farm)
        for commit in await farm.store.presumed_no_ops(branch, HELD_LISTED)
        if commit.branch == branch
    ]


async def mirror(farm: Farm) -> dict[str, str]:
    """`state`: ready, begun or trouble; `text`: how far it is, or why it cannot be made."""
    return farm.mirroring.view()


LISTED = 100


class PointEndpoint(BenchEndpoint):
    """One commit of a series."""

    pathPatterns = ["/bench/history/s:testbed/s:workload/n:position"]
    takes_branch = True

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What it gave; None when nothing was measured there."""
        farm = farm_of(self.master).as_of_now()
        branch = await branch_asked(farm, resultSpec)
        return await commit_views.measured_commit(farm, **kwargs, branch=branch)


@filtered_by(branch=types.String())
class BenchView(base.ResourceType):
    """What a page shows; an answer's list is named `views`."""

    name = "bench_view"
    plural = "views"
    endpoints = [
        PointEndpoint,
        SamplesEndpoint,
        reading("/bench/series", "What is measured where.", history.series_list, is_list=True),
        reading(
            "/bench/commits/s:revision",
            "One commit on all series, each against what was measured before it.",
            commit_views.commit,
        ),
        reading("/bench/searches/n:searchid/strip", "A search's range as a strip.", searches.strip),
        reading(
            "/bench/searches/n:searchid/commits/n:offset",
            "One commit of a search's range.",
            commit_views.commit_in_search,
        ),
        reading(
            "/bench/searches/n:searchid/report",
            "A search's report as its page shows it.",
            overview.report_page,
        ),
        reading("/bench/lab", "Testbeds and queues.", overview.lab),
        reading("/bench/overview", "How the farm stands.", overview.overview),
        reading("/bench/gates", "What waits behind gates.", gates, is_list=True),
        reading(
            "/bench/noops",
            "What is presumed to change nothing of the kernel.",
            no_ops,
            is_list=True,
        ),
        reading("/bench/kernels", "Built kernels, and what retention does about them.", kernels),
        reading(
            "/bench/reports",
            "Searches with their outcome, the newest first.",
            searches.reports,
            listed=LISTED,
        ),
        reading(
            "/bench/verdicts",
            "Verdicts that are worth a look, the newest first.",
            judgements.verdicts,
            listed=LISTED,
        ),
        reading(
            "/bench/calibration",
            "How often verdicts of a stated probability were right, and each series' budget.",
            calibration.calibration_json,
        ),
        reading("/bench/record", "How often the farm was right.", judgements.record_json),
        reading("/bench/mirror", "How far the mirror of the repository is.", mirror),
    ]
