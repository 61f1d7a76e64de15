"""Requests for further images of a comparison's variants."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.compare import BootLimits, ComparisonTerms, VariantPlan, more_images
from buildbot_bench.plugin.broker.ask import BuildTarget, ask_image
from buildbot_bench.plugin.db.ab_test_rows import AbTestImage, AbTestRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.compared_boots import SeriesName
from buildbot_bench.plugin.queries.compared_images import KnownImages
from buildbot_bench.plugin.queries.comparisons import ComparisonViews


class FurtherImages:
    """Has a series of a comparison get the images that its verdicts need."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def release(self, images: Sequence[ImageRow]) -> None:
        """One that runs is approved: so is what it needs. What was dropped it needs again."""
        for image in images:
            if image.state in {ImageState.HELD, ImageState.DROPPED}:
                await self._farm.store.change(
                    image, changed_at=self._farm.now(), state=ImageState.WANTED
                )

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
        target = BuildTarget(
            sha=first.sha,
            position=first.position,
            label=first.label,
            variant=first.variant,
            repository=first.repository,
        )
        return await ask_image(self._farm, target, number)
