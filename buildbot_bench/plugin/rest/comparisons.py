"""The REST resources of comparisons and testbeds, under /api/v2/bench."""

from typing import Any

from buildbot.data import base, types

from buildbot_bench.api.requests import ComparisonQuestion, Extension, ReleaseAsked
from buildbot_bench.plugin.broker.quarantine import release
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.overview import testbed
from buildbot_bench.plugin.queries.result_directory import directory_of
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.rest.access import APPROVE, may, owner_of, require
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, asked_for, filtered_by, newest

LISTED = 50


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
