"""The REST resources of searches, probes and judgements."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from buildbot.data import base, types

from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries.judgements import judgement, newest_judgements
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.requests.search_requests import (
    MOST_ITERATIONS,
    MoreBoots,
    SearchQuestion,
    SearchRequests,
    measure_more,
)
from buildbot_bench.plugin.rest.access import priority_of
from buildbot_bench.plugin.rest.endpoints import (
    BenchEndpoint,
    flag,
    fraction,
    newest,
    number,
    required_text,
    rpc_errors,
    text,
)

LISTED = 50


def register(master: Any) -> None:
    """Add our resources to Buildbot's.

    Buildbot 4.3 has a fixed list of modules and no public way to add one; `_scanModule` is what
    it calls for each of them. A configuration that is read again finds them there.
    """
    if master.data.getResourceType(Search.name) is None:
        master.data._scanModule(sys.modules[__name__])  # noqa: SLF001


def _question(args: dict[str, Any]) -> SearchQuestion:
    return SearchQuestion(
        old=required_text(args, "old"),
        new=required_text(args, "new"),
        testbed=text(args, "testbed"),
        workload=text(args, "workload"),
        min_effect=fraction(args, "min_effect"),
        error=fraction(args, "error"),
        fix=text(args, "with"),
        priority=priority_of(args),
    )


def _more_boots(args: dict[str, Any]) -> MoreBoots:
    return MoreBoots(
        revision=required_text(args, "revision"),
        iterations=number(args, "iterations", least=1, most=MOST_ITERATIONS, default=1),
        fresh=flag(args, "fresh"),
    )


def mark_asked(args: dict[str, Any]) -> dict[str, str]:
    """What somebody says, and who: whom Buildbot knows them as."""
    return {
        "kind": required_text(args, "mark"),
        "fixed_by": text(args, "revision") or "",
        "author": str(args.get("owner") or ""),
    }


class SearchEndpoint(BenchEndpoint):
    """One search."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/searches/n:searchid"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The search as it stands; None when there is none."""
        return await SearchViews(farm_of(self.master)).describe(kwargs["searchid"])

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`cancel` ends it, `mark` says what its report was, `measure` asks for more boots.

        `cancel` answers with the state that the search is in then: one that has ended keeps its.
        """
        farm, number = farm_of(self.master), kwargs["searchid"]

        async def work() -> Any:
            match action:
                case "cancel":
                    return {"state": await SearchRequests(farm).cancel(number)}
                case "mark":
                    return await MarkRequests(farm).mark_search(number, **mark_asked(args))
                case "measure":
                    return await measure_more(farm, number, _more_boots(args))
            return await BenchEndpoint.act(self, action, args, kwargs)

        return await rpc_errors(work())


class SearchesEndpoint(BenchEndpoint):
    """All searches, newest first."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/searches"]
    rootLinkName = "bench"

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest searches, without their reports."""
        farm = farm_of(self.master)
        found = await farm.store.searches(limit=newest(resultSpec, LISTED))
        return [await SearchViews(farm).summarise(search) for search in found]

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`check` says what would be searched, `forecast` what it would cost; `start` starts it."""
        requests = SearchRequests(farm_of(self.master))
        methods: dict[str, Callable[[], Awaitable[Any]]] = {
            "check": lambda: requests.check(_question(args)),
            "forecast": lambda: requests.forecast(_question(args)),
            "start": lambda: requests.start(_question(args), str(args.get("owner") or "")),
        }
        if action not in methods:
            return await super().act(action, args, kwargs)

        async def work() -> Any:
            return await methods[action]()

        return await rpc_errors(work())


class ProbesEndpoint(BenchEndpoint):
    """The probes of one search."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/searches/n:searchid/probes"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What each probe gave, oldest first."""
        return await SearchViews(farm_of(self.master)).probes(kwargs["searchid"])


class RecentProbesEndpoint(BenchEndpoint):
    """What the lab was asked for last."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/probes"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest probes of all searches and commits."""
        return await SearchViews(farm_of(self.master)).recent_probes(newest(resultSpec, LISTED))


class JudgementsEndpoint(BenchEndpoint):
    """What was made of the newest samples."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/judgements"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest judgements with their verdicts."""
        return await newest_judgements(farm_of(self.master), newest(resultSpec, LISTED))


class JudgementEndpoint(BenchEndpoint):
    """What was made of one sample."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/judgements/n:judgementid"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The verdict; None when there is none."""
        return await judgement(farm_of(self.master), kwargs["judgementid"])

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`mark` says what it was."""
        if action != "mark":
            return await super().act(action, args, kwargs)

        async def work() -> Any:
            requests = MarkRequests(farm_of(self.master))
            return await requests.mark_verdict(kwargs["judgementid"], **mark_asked(args))

        return await rpc_errors(work())


class Search(base.ResourceType):
    """A bisection of a range."""

    name = "search"
    plural = "searches"
    endpoints = [SearchEndpoint, SearchesEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        searchid = types.Integer()
        state = types.String()
        testbed = types.String()
        workload = types.String()
        branch = types.String()

    entityType = EntityType(name)


class BenchProbe(base.ResourceType):
    """One request for iterations."""

    name = "bench_probe"
    plural = "probes"
    endpoints = [ProbesEndpoint, RecentProbesEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        probeid = types.Integer()
        serial = types.Integer()

    entityType = EntityType(name)


class Judgement(base.ResourceType):
    """A sample judged against its history."""

    name = "bench_judgement"
    plural = "judgements"
    endpoints = [JudgementEndpoint, JudgementsEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        judgementid = types.Integer()
        state = types.String()
        branch = types.String()

    entityType = EntityType(name)
