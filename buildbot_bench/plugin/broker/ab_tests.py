"""How comparisons advance: both variants are built, then booted in turns until all is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from buildbot_bench.core.ab_test import AbTestSide, Block, next_block
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.broker.ask import Priority, ask_probe, cancel_probes
from buildbot_bench.plugin.db.finding_rows import AbTestRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRequest, ProbeRow
from buildbot_bench.plugin.db.states import (
    OPEN_PROBES,
    AbTestState,
    ImageState,
    ProbeReason,
    ProbeState,
)
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import in_one_line, removal_reason, removal_reasons
from buildbot_bench.plugin.queries.comparisons import SeriesName, sides_done

# A series whose last so many probes were all lost to the lab is not going to end by itself.
MAX_LOST = 3


class AbTests:
    """Gives every series of every running comparison its next boots, or the comparison its end.

    What comes next is a function of what was measured; no cycle depends on the one before.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look at each comparison that has not ended."""
        running = await self._farm.store.ab_tests(
            states=(AbTestState.RUNNING, AbTestState.CANCELLING)
        )
        await for_each(running, self._advance, "comparison of variants")

    async def _advance(self, ab_test: AbTestRow) -> None:
        probes = await self._farm.store.probes_of_ab_test(ab_test.id)
        if ab_test.state == AbTestState.CANCELLING:
            await self._end(ab_test, probes, AbTestState.CANCELLED)
            return
        base = await self._farm.store.image(ab_test.base_image_id)
        new = await self._farm.store.image(ab_test.new_image_id)
        if base is not None and new is not None:
            await self._next(ab_test, probes, base, new)

    async def _next(
        self, ab_test: AbTestRow, probes: list[ProbeRow], base: ImageRow, new: ImageRow
    ) -> None:
        if ending := _ending(ab_test, probes, base, new):
            state, detail = ending
            await self._end(ab_test, probes, state, detail=detail)
            return
        if not base.state == new.state == ImageState.BUILT:
            await self._release(base, new)
            return
        done = sides_done(ab_test, await self._farm.store.iterations_of_ab_test(ab_test.id))
        missing = False
        for testbed, workload in ab_test.series:
            series = (testbed, workload)
            asked = [probe for probe in probes if (probe.testbed, probe.workload) == series]
            if any(probe.state in OPEN_PROBES for probe in asked):
                missing = True
            elif removal_reason(self._farm, testbed, workload):
                continue
            elif block := next_block(done.get(series, Counter()), ab_test.iterations):
                missing = True
                image = base if block.side is AbTestSide.BASE else new
                await self._ask(ab_test, series, block, image, serial=len(asked) + 1)
        if not missing:
            detail = in_one_line(removal_reasons(self._farm, ab_test.series))
            await self._end(ab_test, probes, AbTestState.DONE, detail=detail)

    async def _release(self, *images: ImageRow) -> None:
        """One that runs is approved: so is what it needs. What was dropped it needs again."""
        for image in images:
            if image.state in {ImageState.HELD, ImageState.DROPPED}:
                await self._farm.store.change_image(
                    image, now=self._farm.now(), state=ImageState.WANTED
                )

    async def _ask(
        self, ab_test: AbTestRow, series: SeriesName, block: Block, image: ImageRow, *, serial: int
    ) -> None:
        testbed, workload = series
        is_base = block.side is AbTestSide.BASE
        await ask_probe(
            self._farm,
            ProbeRequest(
                image_id=image.id,
                testbed=testbed,
                workload=workload,
                iterations=block.iterations,
                reason=ProbeReason.PERSON,
                priority=Priority.PERSON,
                tunables=ab_test.base_tunables if is_base else ab_test.new_tunables,
                ab_test_id=ab_test.id,
                serial=serial,
            ),
        )

    async def _end(
        self, ab_test: AbTestRow, probes: list[ProbeRow], state: AbTestState, *, detail: str = ""
    ) -> None:
        """One compare-and-swap; what is still asked for is called off first."""
        await cancel_probes(self._farm, probes, f"comparison {ab_test.id} has ended")
        await self._farm.store.change_ab_test(
            ab_test, state=state, detail=detail or None, ended_at=self._farm.now()
        )


def _ending(
    ab_test: AbTestRow, probes: Sequence[ProbeRow], base: ImageRow, new: ImageRow
) -> tuple[AbTestState, str] | None:
    """Why a comparison cannot go on, if it cannot, or need not."""
    for image, label in ((base, ab_test.base_label), (new, ab_test.new_label)):
        if image.state == ImageState.UNTESTABLE:
            return AbTestState.UNTESTABLE, f"{label} is untestable: {image.reason}"
        if image.state == ImageState.FAILED:
            return AbTestState.FAILED, f"{label} cannot be built: {image.reason or 'the builders'}"
    if base.kernel and base.kernel == new.kernel and ab_test.base_tunables == ab_test.new_tunables:
        return AbTestState.DONE, "no-op change: both kernels are the same but for their version"
    for probe in probes:
        if probe.failure_kind == FailureKind.UNTESTABLE:
            is_base = (probe.image_id, probe.tunables) == (base.id, ab_test.base_tunables)
            label = ab_test.base_label if is_base else ab_test.new_label
            return AbTestState.UNTESTABLE, f"{label} is untestable: {probe.failure}"
    for series in ab_test.series:
        recent = [p for p in probes if [p.testbed, p.workload] == list(series)][-MAX_LOST:]
        if len(recent) == MAX_LOST and all(probe.state == ProbeState.LOST for probe in recent):
            return AbTestState.FAILED, recent[-1].failure or "the lab does not answer"
    return None
