"""The REST resources of testbeds, under /api/v2/bench/testbeds."""

from __future__ import annotations

from typing import Any

from buildbot.data import base, types

from buildbot_bench.api.requests import ReleaseAsked
from buildbot_bench.plugin.broker.quarantine import release
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.queries.lab import testbed
from buildbot_bench.plugin.rest.access import owner_of
from buildbot_bench.plugin.rest.endpoints import BenchEndpoint, asked_for, filtered_by


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
