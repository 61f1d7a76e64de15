"""The images that a comparison has, wants, or cannot have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from buildbot_bench.core.compare import ImageBoots, SeriesValues, VariantPlan, why_one_image
from buildbot_bench.core.evidence import cannot_relink, is_alike
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.wire import ONE_IMAGE, FailureKind
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.db.states import ImageState
from buildbot_bench.plugin.farm import Farm

MOST_LOST = 2
"""Further images of a variant that could not be made, after which no other one is tried."""

_UNUSABLE = frozenset({ImageState.UNTESTABLE, ImageState.FAILED})


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownImages:
    """The images of a comparison as the tables have them; `job` is the one that builds.

    `refused` are those that a testbed could not boot, with what it said.
    """

    ab_test: AbTestRow
    images: Sequence[ImageRow]
    job: str
    refused: dict[tuple[int, str], str] = field(default_factory=dict)

    @property
    def plain_positions(self) -> frozenset[int]:
        """Where the plain commits stand that are held against each other; empty for one alone."""
        found = frozenset(image.position for image in self.images if image.variant == image.sha)
        return found if len(found) > 1 else frozenset()

    def plans(self, testbed: str, workload: str) -> list[VariantPlan]:
        """What is asked for of each variant on one series, the base's first."""
        plans = []
        for place in range(len(self.ab_test.variants)):
            further = [
                one for one in self.ab_test.further_of(testbed, workload) if one.place == place
            ]
            lost = {one.number for one in further if self._why_lost(place, one.image_id)}
            boots = {one.number: one.boots for one in further if one.number not in lost}
            first = {0: self.ab_test.iterations}
            plans.append(VariantPlan(boots=first | boots, lost=frozenset(lost)))
        return plans

    def wanted(self, testbed: str, workload: str) -> list[ImageBoots]:
        """How many boots of each image are asked for, by variant."""
        return [plan.boots for plan in self.plans(testbed, workload)]

    def single(self, values: SeriesValues) -> tuple[str, ...]:
        """Why a variant has no further images on a series; '' for one that may have some."""
        why = self._why_none(values)
        return tuple(
            why or self._why_no_more(place, values) for place in range(len(self.ab_test.variants))
        )

    def _why_none(self, values: SeriesValues) -> str:
        said = values.facts.get(ONE_IMAGE, "")
        if not said and cannot_relink(self.images):
            said = (
                f"the job {quoted(self.job)} cannot relink, a further image came out as the first"
            )
        return why_one_image(values.metric, most=self.ab_test.images, otherwise=said)

    def _why_no_more(self, place: int, values: SeriesValues) -> str:
        reasons = [
            why
            for one in self.ab_test.further_of(values.testbed, values.workload)
            if one.place == place and (why := self._why_lost(place, one.image_id))
        ]
        return reasons[-1] if len(reasons) >= MOST_LOST else ""

    def _why_lost(self, place: int, image_id: int) -> str:
        """Why an image cannot be booted; empty when it can, or is being built."""
        variant = self.ab_test.variants[place]
        by_id = {image.id: image for image in self.images}
        image, first = by_id[image_id], by_id.get(variant.image_id)
        if image.state in _UNUSABLE:
            return image.reason or "it cannot be built"
        if first is not None and is_alike(image, first):
            return "it came out as the first"
        return self.refused.get((image_id, variant.tunables), "")


async def known_images(farm: Farm, ab_test: AbTestRow) -> KnownImages:
    """The images that a comparison boots, and what became of them."""
    probes = await farm.store.probes_of_ab_test(ab_test.id) if ab_test.further else []
    images = await farm.store.images_of_ab_test(ab_test.id)
    repository = images[0].repository if images else ""
    return KnownImages(
        ab_test=ab_test,
        images=images,
        job=farm.workflow.build_job_of(repository).name,
        refused=refused_kernels(ab_test, probes),
    )


def refused_kernels(ab_test: AbTestRow, probes: Sequence[ProbeRow]) -> dict[tuple[int, str], str]:
    """By image and tunables what a testbed said that could not boot it, since it was resumed."""
    return {
        (probe.image_id, probe.tunables): probe.failure or "it does not boot"
        for probe in since_resumed(ab_test, probes)
        if probe.failure_kind == FailureKind.UNTESTABLE
    }


def since_resumed(ab_test: AbTestRow, probes: Sequence[ProbeRow]) -> list[ProbeRow]:
    """The requests made since a comparison went on last: what failed before is forgiven."""
    since = ab_test.resumed_at
    return [probe for probe in probes if since is None or probe.created_at >= since]
