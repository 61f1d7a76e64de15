"""Before Buildbot takes builders away, what runs on them ends; it decides nothing.

Buildbot 4.3 forgets a build whose builder a reconfiguration removes: its step is never told of its
end, so the job goes on in the lab, and the build for ever. While the builder is there, the build
can be stopped, and then ends its job itself.
"""

from __future__ import annotations

from typing import Any

from buildbot.util.service import AsyncService, ReconfigurableServiceMixin
from buildbot.util.twisted import async_to_deferred
from twisted.internet.task import deferLater
from twisted.python import log

from buildbot_bench.plugin.broker.gone import Gone
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm

# The lab answers within seconds; Buildbot lets nobody log in before it is reconfigured.
PATIENCE_S = 10.0
_LOOK_EVERY_S = 0.2


class BeforeBuilders(ReconfigurableServiceMixin, AsyncService):
    """Has the farm go by the new workflow before the master's builders do."""

    name = f"{SERVICE_NAME}-before-builders"
    # Higher ones are reconfigured first; the botmaster, which has the builders, has 1001.
    reconfig_priority = 1100

    def __init__(self, farm: Farm) -> None:
        super().__init__()
        self._farm = farm

    @async_to_deferred
    async def reconfigServiceWithBuildbotConfig(self, new_config: Any) -> None:
        """Take the workflow of the new configuration, and end what it has no place for."""
        service = new_config.services.get(SERVICE_NAME)
        workflow = service and service._config_kwargs["workflow"]  # noqa: SLF001 - there is no other
        if workflow is None or workflow == self._farm.workflow:
            return
        self._farm.use(workflow)
        gone = Gone(self._farm)
        requests = await gone.requests()
        await gone.advance()
        await self._ended(requests)

    async def _ended(self, requests: list[int]) -> None:
        reactor, data = self._farm.master.reactor, self._farm.master.data
        deadline = reactor.seconds() + PATIENCE_S
        for brid in requests:
            request = await data.get(("buildrequests", brid))
            while request is not None and not request["complete"]:
                if reactor.seconds() > deadline:
                    log.msg(
                        f"bench: build request {brid} does not end: its builder goes all the same"
                    )
                    return
                await deferLater(reactor, _LOOK_EVERY_S, lambda: None)
                request = await data.get(("buildrequests", brid))
