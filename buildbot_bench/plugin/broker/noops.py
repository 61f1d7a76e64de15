"""Commits that change nothing of the kernel cost no boot: what their predecessor gave is theirs."""

from __future__ import annotations

from twisted.python import log

from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.db.states import ComparisonState, ProbeState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.orders import is_alike


class NoOps:
    """Closes the probes of commits whose kernel is that of their predecessor, and says so."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def spares(self, probe: ProbeRow, image: ImageRow) -> bool:
        """Whether a probe whose image is built costs no boot; then it is closed.

        Only what is measured for the commit's own sake is spared: a search or a confirmation asks
        for a boot because it wants that boot. But a further image is asked for its other layout,
        and must have one.
        """
        store = self._farm.store
        if probe.reason in OF_COMMITS:
            lane = {"testbed": probe.testbed, "workload": probe.workload}
            twin = await store.measured_twin(image, branch=self._farm.branch, **lane)
            if twin is not None:
                await self._close(probe, image, twin)
            return twin is not None
        if image.ordinal == 0:
            return False
        first = await store.image_of(image.variant, 0)
        alike = first is not None and is_alike(image, first)
        if alike:
            reason = (
                f"image {image.ordinal} of {image.label} is its first one again: "
                f"the job {self._farm.workflow.build_job.name!r} cannot relink"
            )
            log.msg(f"bench: {reason}; see BENCH_IMAGE in the README")
            await self._end(probe, reason)
        return alike

    async def _close(self, probe: ProbeRow, image: ImageRow, twin: ImageRow) -> None:
        reason = f"no-op change: same kernel as {twin.label}"
        # First what a reader is told: a master that dies in between tells it again.
        await self._farm.store.ensure_comparison(
            testbed=probe.testbed,
            workload=probe.workload,
            unit="",
            old_sha=twin.sha,
            old_position=twin.position,
            new_sha=image.sha,
            new_position=image.position,
            state=ComparisonState.NOTHING,
            verdict={"image": image.id, "probes": [], "reason": reason},
            now=self._farm.now(),
        )
        await self._end(probe, reason)

    async def _end(self, probe: ProbeRow, reason: str) -> None:
        await self._farm.store.change_probe(
            probe,
            state=ProbeState.DONE,
            failure=reason,
            judged=True,
            ended_at=self._farm.now(),
        )
