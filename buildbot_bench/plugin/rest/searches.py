"""The REST resources of searches, incidents, probes, judgements, comparisons and testbeds."""

from typing import Any

from buildbot.data import base, types

from buildbot_bench.api.requests import (
    ComparisonQuestion,
    Extension,
    MarkAsked,
    MoreBoots,
    ReleaseAsked,
    SearchQuestion,
)
from buildbot_bench.plugin.broker.quarantine import release
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries import incident_groups
from buildbot_bench.plugin.queries.comparisons import ComparisonViews, directory_of
from buildbot_bench.plugin.queries.judgements import judgement, newest_judgements
from buildbot_bench.plugin.queries.overview import testbed
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.requests.search_requests import SearchRequests, measure_more
from buildbot_bench.plugin.rest.access import APPROVE, may, owner_of, require
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


class ComparisonEndpoint(BenchEndpoint):
    """One comparison."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/comparisons/n:comparisonid"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The comparison as it stands; None when there is none."""
        return await ComparisonViews(farm_of(self.master).as_of_now()).describe(
            kwargs["comparisonid"]
        )

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`cancel` ends it, `extend` gives it more boots or variants, or lets it go on.

        `approve` and `reject` decide about a stranger's patches. `cancel` answers with the state
        that the comparison is in then: one that has ended keeps its.
        """
        requests, comparison = ComparisonRequests(farm_of(self.master)), kwargs["comparisonid"]
        match action:
            case "cancel":
                return {"state": await requests.cancel(comparison)}
            case "extend":
                more, trusted = asked_for(Extension, args), may(args, APPROVE)
                return await requests.extend(comparison, more, owner_of(args), trusted=trusted)
            case "approve" | "reject":
                require(args, APPROVE)
                await requests.decide(comparison, owner_of(args), approved=action == "approve")
                return {}
        return await super().act(action, args, kwargs)


class ComparisonsEndpoint(BenchEndpoint):
    """All comparisons, newest first."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/comparisons"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest comparisons, without their reports."""
        farm = farm_of(self.master).as_of_now()
        found = await farm.store.ab_tests(limit=newest(resultSpec, LISTED))
        views = ComparisonViews(farm)
        return [await views.summarise(ab_test) for ab_test in found]

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`start` starts one."""
        if action != "start":
            return await super().act(action, args, kwargs)
        requests, trusted = ComparisonRequests(farm_of(self.master)), may(args, APPROVE)
        question = asked_for(ComparisonQuestion, args)
        return await requests.start(question, owner_of(args), trusted=trusted)


class FilesEndpoint(BenchEndpoint):
    """The result directory of one comparison."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/comparisons/n:comparisonid/files"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """Each file with its path and its text, or its bytes in base64."""
        farm = farm_of(self.master).as_of_now()
        ab_test = await farm.store.ab_test(kwargs["comparisonid"])
        return None if ab_test is None else await directory_of(farm, ab_test)


@filtered_by(comparisonid=types.Integer(), state=types.String())
class ComparisonResource(base.ResourceType):
    """A comparison of two to thirty-two variants."""

    name = "bench_comparison"
    plural = "comparisons"
    endpoints = [ComparisonEndpoint, ComparisonsEndpoint]


@filtered_by(path=types.String())
class ComparisonFile(base.ResourceType):
    """One file of a result directory."""

    name = "bench_file"
    plural = "files"
    endpoints = [FilesEndpoint]


class TestbedEndpoint(BenchEndpoint):
    """One testbed."""

    __test__ = False  # pytest takes the name for a test

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/testbeds/s:testbed"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What it does, how well it is and its control chart; None when there is none."""
        farm, name = farm_of(self.master).as_of_now(), kwargs["testbed"]
        return await testbed(farm, name) if name in farm.workflow.testbeds else None

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`release` ends its quarantine; with `false_alarm`, what it measured meanwhile counts."""
        if action != "release":
            return await super().act(action, args, kwargs)
        false_alarm = asked_for(ReleaseAsked, args).false_alarm
        by = owner_of(args) or "somebody"
        await release(farm_of(self.master), kwargs["testbed"], by=by, false_alarm=false_alarm)
        return {}


@filtered_by(testbed=types.String())
class Testbed(base.ResourceType):
    """A testbed of the lab."""

    __test__ = False

    name = "bench_testbed"
    plural = "testbeds"
    endpoints = [TestbedEndpoint]
