"""The expiry of patches without approval, and the end of their comparisons."""

from __future__ import annotations

from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.states import AbTestState, ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each

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
