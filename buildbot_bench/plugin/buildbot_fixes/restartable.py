"""Steps whose requests survive a shutdown of the master.

Buildbot 4.3 cancels for good what runs when its master stops (issue 6029).
"""

from typing import Any

from buildbot.process.results import RETRY
from buildbot.util.twisted import async_to_deferred


class Restartable:
    """Mixed in before a BuildStep: answers RETRY when the master is shut down meanwhile.

    Buildbot 4.3 means to do so itself, but decides after the step was asked to stop, and so ends
    the request as CANCELLED for good (its issue 6029).
    """

    @async_to_deferred
    async def run(self) -> int:
        """Run the step; RETRY when the master stopped it."""
        results: int = await self.work()
        return RETRY if self.build.stopped_reason == "Master Shutdown" else results

    async def work(self) -> int:
        """What the step does; by default what the next class in line does."""
        results: int = await super().run()  # type: ignore[misc]
        return results

    build: Any
