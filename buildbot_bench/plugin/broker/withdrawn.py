"""The end of requests that nobody waits for: superseded by a newer push, or never approved."""

from __future__ import annotations

from buildbot_bench.api.states import AbTestState
from buildbot_bench.plugin.broker.ask import call_off, cancel_probes
from buildbot_bench.plugin.broker.collect import has_begun
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.db.states import UNBUILT, ImageState, ProbeReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each

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
        if image is None or image.state not in UNBUILT:
            return
        ab_tests = await store.ab_tests(states=(AbTestState.RUNNING,))
        awaited = {probe.image_id for probe in await store.open_probes()}
        awaited |= {number for ab_test in ab_tests for number in ab_test.image_ids}
        if image_id in awaited or await has_begun(self._farm.master, image.brid):
            return
        # First in the tables: a master that dies in between lets the build end, and keeps it.
        dropped = await store.change(
            image, changed_at=self._farm.now(), state=ImageState.DROPPED, brid=None
        )
        if dropped is not None:
            await call_off(self._farm, image.brid, "nobody waits for it any more")


LOOK_EVERY_S = 3600.0
_DAY_S = 24 * 3600.0
# A cancelled one may be let go on, and would await approval again.
_UNDECIDED = (AbTestState.AWAITING, AbTestState.CANCELLED)


class UnapprovedPatches:
    """Looks in its first cycle and then each hour."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._next_look_s = 0.0

    async def advance(self) -> None:
        """Reject what has waited for too long, and delete the patches that nothing needs."""
        now = self._farm.now()
        if now < self._next_look_s:
            return
        self._next_look_s = now + LOOK_EVERY_S
        before = now - self._farm.workflow.untrusted.keep_days * _DAY_S
        undecided = await self._farm.store.ab_tests(_UNDECIDED)
        late = [one for one in undecided if (one.resumed_at or one.created_at) < before]
        await for_each(late, self._reject, "comparison of variants")
        await self._farm.store.forget_patches(before)

    async def _reject(self, ab_test: AbTestRow) -> None:
        images = [await self._farm.store.image(variant.image_id) for variant in ab_test.variants]
        if not any(image is not None and image.state == ImageState.HELD for image in images):
            return
        days = self._farm.workflow.untrusted.keep_days
        await self._farm.store.change_ab_test(
            ab_test,
            state=AbTestState.REJECTED,
            detail=f"nobody approved its patches within {days} days",
            ended_at=ab_test.ended_at or self._farm.now(),
        )
