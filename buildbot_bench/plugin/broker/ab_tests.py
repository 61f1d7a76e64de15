"""The advance of running comparisons: builds, boots in turn, further images, and the end."""

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.api.answers import AbTestState, ProbeState
from buildbot_bench.core.compare.schedule import (
    Block,
    BootLimits,
    VariantPlan,
    more_images,
    next_block,
    no_op,
    same_as,
)
from buildbot_bench.core.compare.verdict import ComparisonTerms
from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import shared
from buildbot_bench.plugin.broker.ask import BuildTarget, ask_boots, ask_image, cancel_probes
from buildbot_bench.plugin.db.ab_test_rows import AbTestImage, AbTestRow
from buildbot_bench.plugin.db.columns import OPEN_PROBES, ImageState, ProbeReason
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import in_one_line, removal_reason, removal_reasons
from buildbot_bench.plugin.queries.breakages import troubles_of_workloads
from buildbot_bench.plugin.queries.compared_boots import (
    KnownImages,
    boots_done,
    known_images,
    measured_by,
    refused_kernels,
    since_resumed,
)
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.evidence import item_of_comparison
from buildbot_bench.workflow.model import Workflow

# Why a variant is not booted: the state in which that leaves the comparison, and the words.
SetAside = tuple[AbTestState, str]


class AbTests:
    """Gives every series of every running comparison its next boots, or the comparison its end.

    What comes next is a function of what was measured; no cycle depends on the one before. Where
    nothing of a comparison changed since its last look, it is not looked at again.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._further = FurtherImages(farm)
        self._workflow: Workflow | None = None
        self._seen: dict[int, object] = {}

    async def advance(self) -> None:
        """Look at each comparison that has not ended."""
        running = await self._farm.store.ab_tests(
            states=(AbTestState.RUNNING, AbTestState.CANCELLING)
        )
        broken = await troubles_of_workloads(self._farm)
        going_on = [
            one
            for one in running
            if one.state is AbTestState.CANCELLING or not broken.keys() & set(one.series_names)
        ]
        if self._workflow is not self._farm.workflow:
            self._workflow, self._seen = self._farm.workflow, {}
        self._now = await self._farm.store.versions_of_ab_tests() if going_on else {}
        self._seen = {one.id: self._seen[one.id] for one in going_on if one.id in self._seen}
        await for_each(going_on, self._advance_if_changed, "comparison of variants")

    async def _advance_if_changed(self, ab_test: AbTestRow) -> None:
        """One that was left as it was waits for its boots and builds: those are of its versions."""
        known = (ab_test, self._now.get(ab_test.id))
        if self._seen.get(ab_test.id) != known:
            await self._advance(ab_test)
            self._seen[ab_test.id] = known

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
        item = await item_of_comparison(self._farm, ab_test)
        aside = set_aside(ab_test, probes, images, item)
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
        asked = [probe for probe in probes if probe.series == series]
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
        variant = ab_test.variants[block.variant]
        further = {
            one.number: one.image_id
            for one in ab_test.further_of(*series)
            if one.place == block.variant
        }
        await ask_boots(
            self._farm,
            further[block.image] if block.image else variant.image_id,
            series,
            ProbeReason.PERSON,
            block.iterations,
            tunables=variant.tunables,
            ab_test_id=ab_test.id,
            serial=serial,
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
    ab_test: AbTestRow,
    probes: Sequence[ProbeRow],
    images: Sequence[ImageRow],
    item: ItemUnderTest,
) -> dict[int, SetAside]:
    """By their places the variants that cannot be booted, or need not: the others go on."""
    refused = refused_kernels(ab_test, probes)
    aside: dict[int, SetAside] = {}
    for place, (variant, image) in enumerate(zip(ab_test.variants, images, strict=True)):
        label = variant.label
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
    built = [
        None if place in aside or not image.kernel else (image.kernel, variant.tunables)
        for place, (variant, image) in enumerate(zip(ab_test.variants, images, strict=True))
    ]
    labels = [variant.label for variant in ab_test.variants]
    return aside | {
        place: (AbTestState.DONE, no_op(labels[place], labels[other], item))
        for place, other in same_as(built).items()
    }


def _given_up(ab_test: AbTestRow, probes: Sequence[ProbeRow]) -> str:
    """What the lab said when it lost a series for good; empty when it did not."""
    for series in ab_test.series_names:
        own = [probe for probe in since_resumed(ab_test, probes) if probe.series == series]
        recent = own[-MAX_FRUITLESS:]
        if len(recent) == MAX_FRUITLESS and all(probe.state == ProbeState.LOST for probe in recent):
            return recent[-1].failure or "the lab does not answer"
    return ""


class FurtherImages:
    """Has a series of a comparison get the images that its verdicts need."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def release(self, images: Sequence[ImageRow]) -> None:
        """One that runs is approved: so is what it needs. What was dropped it needs again."""
        for image in images:
            if image.state in {ImageState.HELD, ImageState.DROPPED}:
                await self._farm.change(image, state=ImageState.WANTED)

    async def are_awaited(
        self,
        ab_test: AbTestRow,
        series: SeriesName,
        known: KnownImages,
        plans: Sequence[VariantPlan],
        compared: Sequence[int],
    ) -> bool:
        """Whether further images are to be built before the boots go on."""
        rows = {image.id: image for image in known.images}
        needed = [
            rows[one.image_id]
            for one in ab_test.further_of(*series)
            if one.place in compared and one.number in plans[one.place].boots
        ]
        unbuilt = [image for image in needed if image.state != ImageState.BUILT]
        await self.release(unbuilt)
        return bool(unbuilt)

    async def wanted(
        self,
        ab_test: AbTestRow,
        series: SeriesName,
        known: KnownImages,
        plans: Sequence[VariantPlan],
        compared: Sequence[int],
    ) -> Sequence[VariantPlan]:
        """What the verdicts need more than `plans`, all of which is measured."""
        if ab_test.images == 1:
            return plans
        values = await ComparisonViews(self._farm).values(ab_test, series, known)
        return await calculate(
            more_images,
            values,
            plans,
            BootLimits(boots=ab_test.iterations, images=ab_test.images),
            ComparisonTerms(min_effect=ab_test.min_effect, confidence=ab_test.confidence),
            booted=compared,
        )

    async def want(
        self,
        ab_test: AbTestRow,
        series: SeriesName,
        plans: Sequence[VariantPlan],
        wanted: Sequence[VariantPlan],
        images: Sequence[ImageRow],
    ) -> AbTestRow | None:
        """The comparison with what is wanted more than `plans`; None when nothing is."""
        testbed, workload = series
        more: list[AbTestImage] = []
        for place, (before, after) in enumerate(zip(plans, wanted, strict=True)):
            for number, boots in after.boots.items():
                if number and boots > before.boots.get(number, 0):
                    image = await self._further(images[place], number)
                    more.append(
                        AbTestImage(
                            place=place,
                            testbed=testbed,
                            workload=workload,
                            number=number,
                            image_id=image.id,
                            boots=boots,
                        )
                    )
        return await self._farm.store.want_images(ab_test.id, more) if more else None

    async def _further(self, first: ImageRow, number: int) -> ImageRow:
        """A further image of a variant: who approved its first one approved its code."""
        target = BuildTarget(**shared(BuildTarget, first))
        return await ask_image(self._farm, target, number)
