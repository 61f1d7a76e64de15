"""How comparisons advance: all variants are built, then booted in turns until all is measured.

Then further images of them, as long as the verdict needs some: `core.ab_test.further` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.core.ab_test import Block, next_block
from buildbot_bench.plugin.broker.ask import ask_probe, cancel_probes
from buildbot_bench.plugin.broker.further_images import FurtherImages
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRequest, ProbeRow
from buildbot_bench.plugin.db.states import (
    OPEN_PROBES,
    AbTestState,
    ImageState,
    Priority,
    ProbeReason,
    ProbeState,
)
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import in_one_line, removal_reason, removal_reasons
from buildbot_bench.plugin.queries.compared_boots import SeriesName, boots_done, measured_by
from buildbot_bench.plugin.queries.compared_images import (
    known_images,
    refused_kernels,
    since_resumed,
)

# A series whose last so many probes were all lost to the lab is not going to end by itself.
MAX_LOST = 3

# Why a variant is not booted: the state in which that leaves the comparison, and the words.
SetAside = tuple[AbTestState, str]


class AbTests:
    """Gives every series of every running comparison its next boots, or the comparison its end.

    What comes next is a function of what was measured; no cycle depends on the one before.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._further = FurtherImages(farm)

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
        known = {row.id: row for row in await self._farm.store.images_of_ab_test(ab_test.id)}
        await self._next(ab_test, probes, [known[one.image_id] for one in ab_test.variants])

    async def _next(
        self, ab_test: AbTestRow, probes: list[ProbeRow], images: list[ImageRow]
    ) -> None:
        aside = set_aside(ab_test, probes, images)
        if lost := _given_up(ab_test, probes):
            await self._end(ab_test, probes, AbTestState.FAILED, detail=lost)
            return
        compared = [place for place in range(len(images)) if place not in aside]
        if 0 in aside or len(compared) < 2:
            await self._conclude(ab_test, probes, aside)
            return
        if any(images[place].state != ImageState.BUILT for place in compared):
            await self._further.release([images[place] for place in compared])
            return
        missing = [
            await self._boot_next(ab_test, probes, series, images, compared)
            for series in ab_test.series_names
        ]
        if not any(missing):
            await self._conclude(ab_test, probes, aside)

    async def _boot_next(
        self,
        ab_test: AbTestRow,
        probes: Sequence[ProbeRow],
        series: SeriesName,
        images: Sequence[ImageRow],
        compared: Sequence[int],
    ) -> bool:
        """Ask for what is missing of a series; False when nothing is."""
        asked = [probe for probe in probes if (probe.testbed, probe.workload) == series]
        if any(probe.state in OPEN_PROBES for probe in asked):
            return True
        if removal_reason(self._farm, *series):
            return False
        known = await known_images(self._farm, ab_test)
        plans = known.plans(*series)
        if await self._further.are_awaited(ab_test, series, known, plans, compared):
            return True
        measured = boots_done(ab_test, await measured_by(self._farm, ab_test))[series]
        block = next_block(
            [measured[place] for place in compared], [plans[place].boots for place in compared]
        )
        if block is not None:
            block = replace(block, variant=compared[block.variant])
            await self._ask(ab_test, series, block, serial=len(asked) + 1)
            return True
        wanted = await self._further.wanted(ab_test, series, known, plans, compared)
        grown = await self._further.want(ab_test, series, plans, wanted, images)
        # Those that a search had built are booted at once.
        return grown is not None and await self._boot_next(grown, probes, series, images, compared)

    async def _conclude(
        self, ab_test: AbTestRow, probes: list[ProbeRow], aside: dict[int, SetAside]
    ) -> None:
        """The end, with what kept it from more; a farm's failure weighs more than a variant's."""
        reached = {state for state, _ in aside.values()}
        by_weight = (AbTestState.FAILED, AbTestState.UNTESTABLE)
        state = next((state for state in by_weight if state in reached), AbTestState.DONE)
        why = [words for _, words in aside.values()]
        gone = in_one_line(removal_reasons(self._farm, ab_test.series))
        await self._end(ab_test, probes, state, detail="; ".join([*why, gone] if gone else why))

    async def _ask(
        self, ab_test: AbTestRow, series: SeriesName, block: Block, *, serial: int
    ) -> None:
        testbed, workload = series
        variant = ab_test.variants[block.variant]
        further = {
            one.number: one.image_id
            for one in ab_test.further_of(testbed, workload)
            if one.place == block.variant
        }
        await ask_probe(
            self._farm,
            ProbeRequest(
                image_id=further[block.image] if block.image else variant.image_id,
                testbed=testbed,
                workload=workload,
                iterations=block.iterations,
                reason=ProbeReason.PERSON,
                priority=Priority.PERSON,
                tunables=variant.tunables,
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


def set_aside(
    ab_test: AbTestRow, probes: Sequence[ProbeRow], images: Sequence[ImageRow]
) -> dict[int, SetAside]:
    """By their places the variants that cannot be booted, or need not: the others go on."""
    refused = refused_kernels(ab_test, probes)
    kernels: dict[tuple[str, str], str] = {}
    aside: dict[int, SetAside] = {}
    for place, (variant, image) in enumerate(zip(ab_test.variants, images, strict=True)):
        label, kernel = variant.label, (image.kernel or "", variant.tunables)
        if image.state == ImageState.UNTESTABLE:
            aside[place] = AbTestState.UNTESTABLE, f"{label} is untestable: {image.reason}"
        elif image.state == ImageState.FAILED:
            why = image.reason or "the builders"
            aside[place] = AbTestState.FAILED, f"{label} cannot be built: {why}"
        elif variant.kernel in refused:
            aside[place] = (
                AbTestState.UNTESTABLE,
                f"{label} is untestable: {refused[variant.kernel]}",
            )
        elif image.kernel and kernel in kernels:
            other = kernels[kernel]
            words = f"no-op change: the kernel of {label} is that of {other} but for its version"
            aside[place] = AbTestState.DONE, words
        else:
            kernels[kernel] = label
    return aside


def _given_up(ab_test: AbTestRow, probes: Sequence[ProbeRow]) -> str:
    """What the lab said when it lost a series for good; empty when it did not."""
    for series in ab_test.series:
        own = [
            probe
            for probe in since_resumed(ab_test, probes)
            if [probe.testbed, probe.workload] == list(series)
        ]
        recent = own[-MAX_LOST:]
        if len(recent) == MAX_LOST and all(probe.state == ProbeState.LOST for probe in recent):
            return recent[-1].failure or "the lab does not answer"
    return ""
