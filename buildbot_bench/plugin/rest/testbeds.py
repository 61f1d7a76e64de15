"""The REST resources of testbeds, under /api/v2/bench/testbeds."""

from __future__ import annotations

import sys
from typing import Any

from buildbot.data import base, types

from buildbot_bench.plugin.broker.quarantine import release
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries.lab import testbed
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, flag, rpc_errors


def register(master: Any) -> None:
    """Add our resources to Buildbot's, as `searches.register` does."""
    if master.data.getResourceType(Testbed.name) is None:
        master.data._scanModule(sys.modules[__name__])  # noqa: SLF001


class TestbedEndpoint(BenchEndpoint):
    """One testbed."""

    __test__ = False  # pytest takes the name for a test

    kind = base.EndpointKind.SINGLE
    pathPatterns = ["/bench/testbeds/s:testbed"]

    async def show(self, resultSpec: Any, kwargs: dict[str, Any]) -> Any:
        """What it does, how well it is and its control chart; None when there is none."""
        farm, name = farm_of(self.master), kwargs["testbed"]
        return await testbed(farm, name) if name in farm.workflow.testbeds else None

    async def act(self, action: str, args: dict[str, Any], kwargs: dict[str, Any]) -> Any:
        """`release` ends its quarantine; with `false_alarm`, what it measured meanwhile counts."""
        if action != "release":
            return await super().act(action, args, kwargs)

        async def work() -> None:
            false_alarm = flag(args, "false_alarm")
            by = str(args.get("owner") or "somebody")
            farm = farm_of(self.master)
            await release(farm, kwargs["testbed"], by=by, false_alarm=false_alarm)

        await rpc_errors(work())
        return {}


class Testbed(base.ResourceType):
    """A testbed of the lab."""

    __test__ = False

    name = "bench_testbed"
    plural = "testbeds"
    endpoints = [TestbedEndpoint]
    eventPathPatterns: list[str] = []

    class EntityType(types.Entity):
        """The fields by which Buildbot may filter and sort."""

        testbed = types.String()

    entityType = EntityType(name)
