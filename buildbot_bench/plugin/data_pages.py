"""The REST resources that the web pages read, under /api/v2/bench; all of them only read.

`lanes` · `history/TESTBED/WORKLOAD/POSITION` · `samples/TESTBED/WORKLOAD/csv` ·
`searches/ID/strip` · `searches/ID/commits/OFFSET` · `lab` · `gates` · `kernels` · `reports` ·
`verdicts` · `record` · `mirror`; whole series are pages.history_text's.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from buildbot.data import base, types

from buildbot_bench.plugin.endpoints import BenchEndpoint, newest
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.marking import record_json
from buildbot_bench.plugin.pages import (
    commit,
    gates,
    history,
    kernels,
    lab,
    mirror,
    samples,
    strip,
    verdicts,
)

LISTED = 100


def register(master: Any) -> None:
    """Add these resources to Buildbot's, as plugin.data does with its own."""
    if master.data.getResourceType(BenchView.name) is None:
        master.data._scanModule(sys.modules[__name__])  # noqa: SLF001


class _Reading(BenchEndpoint):
    """An endpoint that gives what a function of the farm and the path's parts gives."""

    read: Callable[..., Awaitable[Any]]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What is there; None, which Buildbot answers by 404, when there is nothing."""
        return await type(self).read(farm_of(self.master), *kwargs.values())


class LanesEndpoint(_Reading):
    """What is measured where."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/lanes"]
    read = history.lane_list


class PointEndpoint(_Reading):
    """One commit of a series."""

    pathPatterns = ["/bench/history/s:testbed/s:workload/n:position"]
    read = commit.measured_commit


class SamplesEndpoint(BenchEndpoint):
    """A series as comma-separated values."""

    kind = base.EndpointKind.RAW
    pathPatterns = ["/bench/samples/s:testbed/s:workload/csv"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The file of a series that is or was measured: its name goes into a header."""
        farm = farm_of(self.master)
        known = await history.lane_list(farm)
        if not any(kwargs.items() <= lane.items() for lane in known):
            return None
        return {
            "raw": await samples.samples_csv(farm, **kwargs),
            "mime-type": "text/csv",
            "filename": "{testbed}-{workload}.csv".format(**kwargs),
        }


class StripEndpoint(_Reading):
    """A search's range as a strip."""

    pathPatterns = ["/bench/searches/n:searchid/strip"]
    read = strip.strip


class SearchedCommitEndpoint(_Reading):
    """One commit of a search's range."""

    pathPatterns = ["/bench/searches/n:searchid/commits/n:offset"]
    read = commit.commit_in_search


class LabEndpoint(_Reading):
    """Testbeds and queues."""

    pathPatterns = ["/bench/lab"]
    read = lab.lab


class GatesEndpoint(_Reading):
    """What waits behind gates."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/gates"]
    read = gates.gates


class KernelsEndpoint(_Reading):
    """Built kernels, and what retention does about them."""

    pathPatterns = ["/bench/kernels"]
    read = kernels.kernels


class ReportsEndpoint(BenchEndpoint):
    """Searches with their outcome."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/reports"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest first."""
        return await verdicts.reports(farm_of(self.master), newest(resultSpec, LISTED))


class VerdictsEndpoint(BenchEndpoint):
    """Verdicts that are worth a look."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/verdicts"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest first."""
        return await verdicts.verdicts(farm_of(self.master), newest(resultSpec, LISTED))


class RecordEndpoint(_Reading):
    """How often the farm was right."""

    pathPatterns = ["/bench/record"]
    read = record_json


class MirrorEndpoint(_Reading):
    """How far the mirror of the repository is."""

    pathPatterns = ["/bench/mirror"]
    read = mirror.mirror


class BenchView(base.ResourceType):
    """What a page shows; an answer's list is named `views`."""

    name = "bench_view"
    plural = "views"
    endpoints = [
        LanesEndpoint,
        PointEndpoint,
        SamplesEndpoint,
        StripEndpoint,
        SearchedCommitEndpoint,
        LabEndpoint,
        GatesEndpoint,
        KernelsEndpoint,
        ReportsEndpoint,
        VerdictsEndpoint,
        RecordEndpoint,
        MirrorEndpoint,
    ]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """Nothing by which Buildbot would filter."""

    entityType = EntityType(name)
