"""The numbers of images and boots that each variant of a comparison gets next.

The images of both sides at most double from one look at the data to the next: `needed.sure_at`
assumes looks at about 1, 2, 4, 8 … images.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from buildbot_bench.core.ab_test.model import SeriesValues
from buildbot_bench.core.ab_test.schedule import ImageBoots
from buildbot_bench.core.ab_test.sides import ComparisonTerms, compared
from buildbot_bench.core.ab_test.verdict import Undecided, WithinLayoutLuck
from buildbot_bench.core.contrast import MoreOfEach, boots_of_image, images_needed, next_of_each
from buildbot_bench.core.model import Noise, learn


@dataclass(frozen=True, kw_only=True, slots=True)
class BootLimits:
    """At most so many boots of an image, and images of a variant."""

    boots: int
    images: int


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantPlan:
    """What is to be booted of a variant; `lost` are the numbers of images that cannot be made."""

    boots: ImageBoots
    lost: frozenset[int] = frozenset()


def more_images(
    values: SeriesValues,
    plans: Sequence[VariantPlan],
    limits: BootLimits,
    wanted: ComparisonTerms,
    *,
    booted: Collection[int],
) -> tuple[VariantPlan, ...]:
    """What is to be booted of each variant, once all of `plans` is; the same if that is enough.

    `booted` are the places of the variants that take part; the base's is 0. Nothing that was
    wanted is taken back.
    """
    after = list(plans)
    for place in sorted(set(booted) - {0}):
        verdict = compared(values, place, wanted).verdict
        if not isinstance(verdict, Undecided | WithinLayoutLuck) or verdict.needs is None:
            continue
        sides = plans[0], plans[place]
        have = MoreOfEach(
            boots=min(sum(side.boots.values()) for side in sides),
            images=min(len(side.boots) for side in sides),
        )
        more = next_of_each(verdict.needs, have)
        for side in (0, place):
            grow = _with_images if more.images else _with_boots
            after[side] = grow(after[side], have, more, limits)
    return tuple(after)


def expected_boots(noise: Noise | None, limits: BootLimits, effect: float) -> MoreOfEach:
    """About how many images and boots of each variant tell an effect, a fraction, from nothing."""
    told = noise or learn([])
    images = min(limits.images, images_needed(effect, told))
    further = (images - 1) * min(limits.boots, boots_of_image(told))
    return MoreOfEach(boots=limits.boots + further, images=images)


def _with_images(
    plan: VariantPlan, have: MoreOfEach, more: MoreOfEach, limits: BootLimits
) -> VariantPlan:
    """With as many images as the side with fewer is to have; none is asked for twice."""
    boots = min(limits.boots, math.ceil(more.boots / more.images))
    images = dict(plan.boots)
    number = max([*images, *plan.lost], default=-1)
    while len(images) < min(limits.images, have.images + more.images):
        number += 1
        images[number] = boots
    return VariantPlan(boots=images, lost=plan.lost)


def _with_boots(
    plan: VariantPlan, have: MoreOfEach, more: MoreOfEach, limits: BootLimits
) -> VariantPlan:
    """With more boots of the images there are, those that have fewest first, up to the limit."""
    images = dict(plan.boots)
    while sum(images.values()) < have.boots + more.boots:
        fewest = min(images, key=lambda image: (images[image], image))
        if images[fewest] >= limits.boots:
            break
        images[fewest] += 1
    return VariantPlan(boots=images, lost=plan.lost)
