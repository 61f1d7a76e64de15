"""The REST resources of searches, incidents, probes and judgements."""

from typing import Any

from buildbot.data import base, types

from buildbot_bench.api.requests import MarkAsked, MoreBoots, SearchQuestion
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries import incident_groups
from buildbot_bench.plugin.queries.judgements import judgement, newest_judgements
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.requests.search_requests import SearchRequests, measure_more
from buildbot_bench.plugin.rest.access import owner_of
from buildbot_bench.plugin.rest.endpoints import (
    BenchEndpoint,
    ReadingEndpoint,
    asked_for,
    filtered_by,
    newest,
    reading,
)

LISTED = 50


def mark_asked(args: dict[str, Any]) -> dict[str, str]:
    """What somebody says, and who: whom Buildbot knows them as."""
    said = asked_for(MarkAsked, args)
    return {"kind": said.mark, "fixed_by": said.revision, "author": owner_of(args)}


class SearchEndpoint(BenchEndpoint):
    """One search."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/searches/n:searchid"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The search as it stands; None when there is none."""
        return await SearchViews(farm_of(self.master).as_of_now()).describe(kwargs["searchid"])

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`cancel` ends it, `mark` says what its report was, `measure` asks for more boots.

        `cancel` answers with the state that the search is in then: one that has ended keeps its.
        """
        farm, number = farm_of(self.master), kwargs["searchid"]
        match action:
            case "cancel":
                return {"state": await SearchRequests(farm).cancel(number)}
            case "mark":
                return await MarkRequests(farm).mark_search(number, **mark_asked(args))
            case "measure":
                return await measure_more(farm, number, asked_for(MoreBoots, args))
        return await super().act(action, args, kwargs)


class SearchesEndpoint(BenchEndpoint):
    """All searches, newest first."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/searches"]
    rootLinkName = "bench"

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest searches, without their reports."""
        farm = farm_of(self.master).as_of_now()
        found = await farm.store.searches(limit=newest(resultSpec, LISTED))
        views = SearchViews(farm)
        return [await views.summarise(search) for search in found]

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`check` says what would be searched, `forecast` what it would cost; `start` starts it."""
        requests = SearchRequests(farm_of(self.master))
        match action:
            case "check":
                return await requests.check(asked_for(SearchQuestion, args))
            case "forecast":
                return await requests.forecast(asked_for(SearchQuestion, args))
            case "start":
                return await requests.start(asked_for(SearchQuestion, args), owner_of(args))
        return await super().act(action, args, kwargs)


class JudgementEndpoint(ReadingEndpoint):
    """What was made of one sample."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/judgements/n:judgementid"]

    read = judgement

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`mark` says what it was."""
        if action != "mark":
            return await super().act(action, args, kwargs)
        requests = MarkRequests(farm_of(self.master))
        return await requests.mark_verdict(kwargs["judgementid"], **mark_asked(args))


@filtered_by(
    searchid=types.Integer(),
    state=types.String(),
    testbed=types.String(),
    workload=types.String(),
    branch=types.String(),
)
class Search(base.ResourceType):
    """A bisection of a range."""

    name = "search"
    plural = "searches"
    endpoints = [SearchEndpoint, SearchesEndpoint]


@filtered_by(probeid=types.Integer(), serial=types.Integer())
class BenchProbe(base.ResourceType):
    """One request for iterations."""

    name = "bench_probe"
    plural = "probes"
    endpoints = [
        reading(
            "/bench/searches/n:searchid/probes",
            "What each probe of one search gave, oldest first.",
            lambda farm, search_id: SearchViews(farm).probes(search_id),
            is_list=True,
        ),
        reading(
            "/bench/probes",
            "What the lab was asked for last, for all searches and commits.",
            lambda farm, most: SearchViews(farm).recent_probes(most),
            listed=LISTED,
        ),
    ]


@filtered_by(judgementid=types.Integer(), state=types.String(), branch=types.String())
class Judgement(base.ResourceType):
    """A sample judged against its history."""

    name = "bench_judgement"
    plural = "judgements"
    endpoints = [
        JudgementEndpoint,
        reading(
            "/bench/judgements",
            "What was made of the newest samples, with the verdicts.",
            newest_judgements,
            listed=LISTED,
        ),
    ]


class IncidentEndpoint(ReadingEndpoint):
    """One incident, by the number of any of its searches."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/incidents/n:incidentid"]

    read = incident_groups.incident

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`mark` says what it was, of all its searches at once."""
        if action != "mark":
            return await super().act(action, args, kwargs)
        requests = MarkRequests(farm_of(self.master))
        return await requests.mark_incident(kwargs["incidentid"], **mark_asked(args))


@filtered_by(incidentid=types.Integer(), kind=types.String(), branch=types.String())
class BenchIncident(base.ResourceType):
    """A culprit, on however many workloads and testbeds."""

    name = "bench_incident"
    plural = "incidents"
    endpoints = [
        reading(
            "/bench/incidents",
            "The newest incidents, each with all its searches and series.",
            incident_groups.incidents,
            listed=incident_groups.LISTED,
        ),
        IncidentEndpoint,
    ]
