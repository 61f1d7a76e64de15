"""The farm's life in Buildbot: its tables are brought up to date before any scheduler starts."""

from __future__ import annotations

from buildbot.util.service import BuildbotService
from buildbot.util.twisted import async_to_deferred

from buildbot_bench.plugin import data, data_testbeds, data_trials
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from buildbot_bench.workflow import Workflow


class BenchService(BuildbotService):
    """Holds the farm; Buildbot configures services before schedulers."""

    name = SERVICE_NAME
    _farm: Farm | None = None

    @property
    def farm(self) -> Farm:
        """The farm; there is none before Buildbot has configured its services."""
        if self._farm is None:
            raise RuntimeError("the farm is asked for before it is configured")
        return self._farm

    def checkConfig(self, *, workflow: Workflow) -> None:
        """Nothing beyond what the workflow has checked itself."""

    @async_to_deferred
    async def reconfigService(self, *, workflow: Workflow) -> None:
        """Open the tables and the mirror that the workflow names."""
        await super().reconfigService()
        if self._farm is None:
            farm = Farm(workflow=workflow, master=self.master)
            await farm.store.upgrade()
            data.register(self.master)
            data_trials.register(self.master)
            data_testbeds.register(self.master)
            self._farm = farm
        else:
            self._farm.use(workflow)
