"""The cancellation of earlier pushes' requests, for `concurrency.cancel-in-progress`."""

from __future__ import annotations

from buildbot_bench.plugin.broker.ask import call_off, cancel_probes
from buildbot_bench.plugin.broker.collect import has_begun
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.db.states import AbTestState, ImageState, ProbeReason
from buildbot_bench.plugin.farm import Farm

_UNBUILT = frozenset({ImageState.WANTED, ImageState.BUILDING})
_OF_PUSHES = frozenset({ProbeReason.COMMIT, ProbeReason.BACKFILL})


class Superseded:
    """With `concurrency.cancel-in-progress`, calls off what has not begun of earlier pushes.

    It leaves the builds and boots that run, and all that searches and people ask for. When
    what is measured shows a drop, the search builds and boots what was passed over.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look at each request for a commit that waits."""
        workflow, store = self._farm.workflow, self._farm.store
        if not workflow.concurrency.cancel_in_progress or workflow.on.push is None:
            return
        for probe in await store.open_probes():
            if probe.reason in _OF_PUSHES and await self._is_superseded(probe):
                why = "a later push arrived (concurrency.cancel-in-progress)"
                await cancel_probes(self._farm, [probe], why, failure=why)
                await self._drop_if_unawaited(probe.image_id)

    async def _is_superseded(self, probe: ProbeRow) -> bool:
        image = await self._farm.store.image(probe.image_id)
        if image is None or not image.branch:
            return False
        first = await self._farm.store.first_of_newest_push(image.branch)
        return image.position < first and not await has_begun(self._farm.master, probe.brid)

    async def _drop_if_unawaited(self, image_id: int) -> None:
        """Do without a build that has not begun, unless something else waits for it."""
        store = self._farm.store
        image = await store.image(image_id)
        if image is None or image.state not in _UNBUILT:
            return
        ab_tests = await store.ab_tests(states=(AbTestState.RUNNING,))
        awaited = {probe.image_id for probe in await store.open_probes()}
        awaited |= {number for ab_test in ab_tests for number in ab_test.image_ids}
        if image_id in awaited or await has_begun(self._farm.master, image.brid):
            return
        # First in the tables: a master that dies in between lets the build end, and keeps it.
        dropped = await store.change_image(
            image, now=self._farm.now(), state=ImageState.DROPPED, brid=None
        )
        if dropped is not None:
            await call_off(self._farm, image.brid, "nobody waits for it any more")
