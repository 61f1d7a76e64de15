"""The read-only REST resources of the web pages, under /api/v2/bench."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from buildbot.data import base, types

from buildbot_bench.core.gate import Ruling
from buildbot_bench.plugin.broker.commit_queue import said_of
from buildbot_bench.plugin.broker.retention import inventory
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.series import Series, all_series, watched_branches
from buildbot_bench.plugin.queries import commit_views, history, judgements, lab, overview, searches
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS, item_of_farm
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, branch_asked, filtered_by, newest
from buildbot_bench.plugin.rest.samples import SamplesEndpoint

Json = dict[str, Any]


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
    waiting = await farm.store.unmeasured(
        branch, series.testbed, series.workload, limit=WINDOW_COMMITS
    )
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


class _Reading(BenchEndpoint):
    """An endpoint that gives what a function of the farm and the path's parts gives."""

    read: Callable[..., Awaitable[Any]]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The view; None, which Buildbot answers by 404, when there is nothing."""
        return await type(self).read(farm_of(self.master).as_of_now(), *kwargs.values())


class SeriesEndpoint(_Reading):
    """What is measured where."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/series"]
    read = history.series_list


class CommitEndpoint(_Reading):
    """One commit on all series, each against what was measured before it."""

    pathPatterns = ["/bench/commits/s:revision"]
    read = commit_views.commit


class PointEndpoint(BenchEndpoint):
    """One commit of a series."""

    pathPatterns = ["/bench/history/s:testbed/s:workload/n:position"]
    takes_branch = True

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What it gave; None when nothing was measured there."""
        farm = farm_of(self.master).as_of_now()
        branch = await branch_asked(farm, resultSpec)
        return await commit_views.measured_commit(farm, **kwargs, branch=branch)


class StripEndpoint(_Reading):
    """A search's range as a strip."""

    pathPatterns = ["/bench/searches/n:searchid/strip"]
    read = searches.strip


class SearchedCommitEndpoint(_Reading):
    """One commit of a search's range."""

    pathPatterns = ["/bench/searches/n:searchid/commits/n:offset"]
    read = commit_views.commit_in_search


class ReportPageEndpoint(_Reading):
    """A search's report as its page shows it."""

    pathPatterns = ["/bench/searches/n:searchid/report"]
    read = overview.report_page


class LabEndpoint(_Reading):
    """Testbeds and queues."""

    pathPatterns = ["/bench/lab"]
    read = lab.lab


class OverviewEndpoint(_Reading):
    """How the farm stands."""

    pathPatterns = ["/bench/overview"]
    read = overview.overview


class GatesEndpoint(_Reading):
    """What waits behind gates."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/gates"]
    read = gates


class NoOpsEndpoint(_Reading):
    """What is presumed to change nothing of the kernel."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/noops"]
    read = no_ops


class KernelsEndpoint(_Reading):
    """Built kernels, and what retention does about them."""

    pathPatterns = ["/bench/kernels"]
    read = kernels


class ReportsEndpoint(BenchEndpoint):
    """Searches with their outcome."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/reports"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest first."""
        return await searches.reports(farm_of(self.master).as_of_now(), newest(resultSpec, LISTED))


class VerdictsEndpoint(BenchEndpoint):
    """Verdicts that are worth a look."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/verdicts"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest first."""
        return await judgements.verdicts(
            farm_of(self.master).as_of_now(), newest(resultSpec, LISTED)
        )


class RecordEndpoint(_Reading):
    """How often the farm was right."""

    pathPatterns = ["/bench/record"]
    read = judgements.record_json


class MirrorEndpoint(_Reading):
    """How far the mirror of the repository is."""

    pathPatterns = ["/bench/mirror"]
    read = mirror


@filtered_by(branch=types.String())
class BenchView(base.ResourceType):
    """What a page shows; an answer's list is named `views`."""

    name = "bench_view"
    plural = "views"
    endpoints = [
        SeriesEndpoint,
        CommitEndpoint,
        PointEndpoint,
        SamplesEndpoint,
        StripEndpoint,
        SearchedCommitEndpoint,
        ReportPageEndpoint,
        LabEndpoint,
        OverviewEndpoint,
        GatesEndpoint,
        NoOpsEndpoint,
        KernelsEndpoint,
        ReportsEndpoint,
        VerdictsEndpoint,
        RecordEndpoint,
        MirrorEndpoint,
    ]
