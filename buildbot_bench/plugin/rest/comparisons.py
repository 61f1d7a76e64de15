"""The REST resources of comparisons, under /api/v2/bench/comparisons."""

from __future__ import annotations

import sys
from typing import Any

from buildbot.data import base, types

from buildbot_bench.core.ab_test import DEFAULT_IMAGES, MOST_IMAGES
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.result_directory import directory_of
from buildbot_bench.plugin.requests.comparison_requests import (
    DEFAULT_ITERATIONS,
    MIN_ITERATIONS,
    ComparisonQuestion,
    ComparisonRequests,
)
from buildbot_bench.plugin.requests.extensions import MOST_ITERATIONS, Extension
from buildbot_bench.plugin.rest.access import APPROVE, may, owner_of, priority_of, require
from buildbot_bench.plugin.rest.endpoints import (
    BenchEndpoint,
    files,
    fraction,
    newest,
    number,
    rpc_errors,
    texts,
    texts_by_name,
)

LISTED = 50
MOST_PATCHES = 20


def register(master: Any) -> None:
    """Add our resources to Buildbot's, as `searches.register` does."""
    if master.data.getResourceType(ComparisonResource.name) is None:
        master.data._scanModule(sys.modules[__name__])  # noqa: SLF001


def question_of(args: dict[str, Any]) -> ComparisonQuestion:
    """The question in a request's parameters; raises UsageError for what is none."""
    return ComparisonQuestion(
        variants=texts(args, "variants"),
        labels=texts_by_name(args, "labels"),
        testbeds=texts(args, "testbeds"),
        workloads=texts(args, "workloads"),
        iterations=number(
            args,
            "iterations",
            least=MIN_ITERATIONS,
            most=MOST_ITERATIONS,
            default=DEFAULT_ITERATIONS,
            hint=f"Student's t needs {MIN_ITERATIONS}; {DEFAULT_ITERATIONS} are usual",
        ),
        images=number(args, "images", least=1, most=MOST_IMAGES, default=DEFAULT_IMAGES),
        min_effect=fraction(args, "min_effect"),
        patches=files(args, "patches", most=MOST_PATCHES),
        priority=priority_of(args),
    )


def extension_of(args: dict[str, Any]) -> Extension:
    """What a comparison is to have more; raises UsageError for what is none."""
    iterations = args.get("iterations")
    return Extension(
        variants=texts(args, "variants"),
        labels=texts_by_name(args, "labels"),
        iterations=None
        if iterations is None
        else number(args, "iterations", least=MIN_ITERATIONS, most=MOST_ITERATIONS, default=0),
        images=None
        if args.get("images") is None
        else number(args, "images", least=1, most=MOST_IMAGES, default=1),
        more=number(args, "more", least=0, most=MOST_ITERATIONS, default=0),
        patches=files(args, "patches", most=MOST_PATCHES),
    )


class ComparisonEndpoint(BenchEndpoint):
    """One comparison."""

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/comparisons/n:comparisonid"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The comparison as it stands; None when there is none."""
        return await ComparisonViews(farm_of(self.master)).describe(kwargs["comparisonid"])

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`cancel` ends it, `extend` gives it more boots or variants, or lets it go on.

        `approve` and `reject` decide about a stranger's patches. `cancel` answers with the state
        that the comparison is in then: one that has ended keeps its.
        """
        requests, comparison = ComparisonRequests(farm_of(self.master)), kwargs["comparisonid"]
        match action:
            case "cancel":
                return {"state": await rpc_errors(requests.cancel(comparison))}
            case "extend":

                async def work() -> Any:
                    asked, trusted = extension_of(args), may(args, APPROVE)
                    return await requests.extend(comparison, asked, owner_of(args), trusted=trusted)

                return await rpc_errors(work())
            case "approve" | "reject":
                require(args, APPROVE)
                approved = action == "approve"
                await rpc_errors(requests.decide(comparison, owner_of(args), approved=approved))
            case _:
                return await super().act(action, args, kwargs)
        return {}


class ComparisonsEndpoint(BenchEndpoint):
    """All comparisons, newest first."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/comparisons"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """The newest comparisons, without their reports."""
        farm = farm_of(self.master)
        found = await farm.store.ab_tests(limit=newest(resultSpec, LISTED))
        views = ComparisonViews(farm)
        return [await views.summarise(ab_test) for ab_test in found]

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`start` starts one."""
        if action != "start":
            return await super().act(action, args, kwargs)

        async def work() -> Any:
            requests = ComparisonRequests(farm_of(self.master))
            trusted = may(args, APPROVE)
            return await requests.start(question_of(args), owner_of(args), trusted=trusted)

        return await rpc_errors(work())


class FilesEndpoint(BenchEndpoint):
    """The result directory of one comparison."""

    kind = base.EndpointKind.COLLECTION
    pathPatterns = ["/bench/comparisons/n:comparisonid/files"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """Each file with its path and its text, or its bytes in base64."""
        farm = farm_of(self.master)
        ab_test = await farm.store.ab_test(kwargs["comparisonid"])
        return None if ab_test is None else await directory_of(farm, ab_test)


class ComparisonResource(base.ResourceType):
    """A comparison of two to sixteen variants."""

    name = "bench_comparison"
    plural = "comparisons"
    endpoints = [ComparisonEndpoint, ComparisonsEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        comparisonid = types.Integer()
        state = types.String()

    entityType = EntityType(name)


class ComparisonFile(base.ResourceType):
    """One file of a result directory."""

    name = "bench_file"
    plural = "files"
    endpoints = [FilesEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        path = types.String()

    entityType = EntityType(name)
