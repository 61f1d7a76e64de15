"""The base of our steps: the row that a build is about, and RETRY after a shutdown."""

from __future__ import annotations

from typing import Any

from buildbot.process.results import RETRY
from buildbot.util.twisted import async_to_deferred

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, ProfileRow
from buildbot_bench.plugin.farm import farm_of

_HINT = "do not force these builders: ask with bench-bisect"


async def image_of(step: Any) -> ImageRow:
    """The image that the build is about."""
    image = await farm_of(step.master).store.image(step.getProperty("bench_image") or 0)
    if image is None:
        raise InfraError(_without("image"), hint=_HINT)
    return image


async def probe_of(step: Any) -> ProbeRow:
    """The probe that the build is about."""
    probe = await farm_of(step.master).store.probe(step.getProperty("bench_probe") or 0)
    if probe is None:
        raise InfraError(_without("probe"), hint=_HINT)
    return probe


async def profile_of(step: Any) -> ProfileRow:
    """The capture that the build is to take."""
    row = await farm_of(step.master).store.profile(step.getProperty("bench_profile") or 0)
    if row is None:
        raise InfraError(_without("capture"), hint=_HINT)
    return row


def _without(what: str) -> str:
    return f"this build has no {what} of the farm's tables"


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
