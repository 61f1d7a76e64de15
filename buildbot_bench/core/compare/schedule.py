"""The boots of two to thirty-two variants: the order in which they alternate, and which count.

A pass boots each variant once; a round is a pass and the same pass backwards, so that an even drift
of the lab (temperature) falls on all variants alike: A B B A A B B A …, of three A B C C B A, then
B C A A C B …. The passes are the rows of a Williams square, in which each variant follows each
other one equally often, so that carry-over favours none (E. J. Williams, "Experimental designs
balanced for the estimation of residual effects of treatments", Australian Journal of Scientific
Research A 2, 1949).
"""

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol, TypeVar

from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.compare.verdict import (
    ComparisonTerms,
    SidesVerdict,
    Undecided,
    WithinLayoutLuck,
    compared,
)
from buildbot_bench.core.contrast.needed import (
    MOST,
    MoreOfEach,
    boots_of_image,
    images_needed,
    next_of_each,
)
from buildbot_bench.core.figures import count
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import Metric, NoiseClass
from buildbot_bench.core.wire import RECORDED_BOOTS

ImageBoots = Mapping[int, int]
"""How many boots of each image of a variant, by the image's number; the first one's is 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Boots of one image in a row; `variant` counts from the base, which is 0."""

    variant: int
    image: int
    iterations: int


def passes(variants: int) -> tuple[tuple[int, ...], ...]:
    """The passes whose rounds make up a whole square: after them the order begins anew."""
    zigzag = [-(place // 2) if place % 2 == 0 else (place + 1) // 2 for place in range(variants)]
    # With an even number of variants half of the rows are others backwards.
    shifts = variants // 2 if variants % 2 == 0 else variants
    return tuple(tuple((step + shift) % variants for step in zigzag) for shift in range(shifts))


def order(variants: int, wanted: int) -> tuple[int, ...]:
    """The variants of all boots, `wanted` of each; an odd number ends with half a round."""
    rows = passes(variants)
    booted: list[int] = []
    for number in range(wanted):
        row = rows[number // 2 % len(rows)]
        booted += reversed(row) if number % 2 else row
    return tuple(booted)


def images_in_turn(wanted: ImageBoots) -> Iterator[int]:
    """The images of all boots of a variant: the first one's, then further ones there and back."""
    yield from [0] * wanted.get(0, 0)
    further = sorted(image for image in wanted if image)
    for turn in range(max((wanted[image] for image in further), default=0)):
        row = [image for image in further if wanted[image] > turn]
        yield from reversed(row) if turn % 2 else row


def next_block(done: Sequence[ImageBoots], wanted: Sequence[ImageBoots]) -> Block | None:
    """The boots that come next after `done` ones of each variant; None when none is missing."""
    left = [Counter(own) for own in done]
    turns = [images_in_turn(own) for own in wanted]
    most = max((sum(own.values()) for own in wanted), default=0)
    chosen: tuple[int, int] | None = None
    length = 0
    for variant in order(len(wanted), most):
        image = next(turns[variant], None)
        if image is None:
            continue
        if left[variant][image] > 0:
            left[variant][image] -= 1
            if chosen is not None:
                break
        elif chosen is None:
            chosen, length = (variant, image), 1
        elif (variant, image) == chosen:
            length += 1
        else:
            break
    return chosen and Block(variant=chosen[0], image=chosen[1], iterations=length)


def delays(booted: Sequence[int], variants: int) -> tuple[float, ...]:
    """By how many boots each variant came later than the base on average; 0 without a boot."""
    places: list[list[int]] = [[] for _ in range(variants)]
    for place, variant in enumerate(booted):
        places[variant].append(place)
    return tuple(fmean(own) - fmean(places[0]) if own and places[0] else 0.0 for own in places)


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

    `booted` are the places that take part, the base's 0. Nothing that was wanted is taken back.
    """
    return more_for_all([verdicts_of(values, wanted, booted=booted)], plans, limits)


def verdicts_of(
    values: SeriesValues, wanted: ComparisonTerms, *, booted: Collection[int]
) -> dict[int, SidesVerdict]:
    """Return the verdict on each new variant that takes part, by its place."""
    return {place: compared(values, place, wanted).verdict for place in sorted(set(booted) - {0})}


def more_for_all(
    verdicts: Sequence[Mapping[int, SidesVerdict]],
    plans: Sequence[VariantPlan],
    limits: BootLimits,
) -> tuple[VariantPlan, ...]:
    """Return what is to be booted for the verdicts on several values of a boot; as `more_images`.

    Boots go on while one of the values needs no more than the limits have left. One that needs
    more, by its own noise, stays undecided however long the others' boots take. Each time there are
    twice as many, as the error of all looks assumes (`verdict`), however little one value needs.
    """
    after = list(plans)
    for found in verdicts:
        for place, verdict in found.items():
            if not isinstance(verdict, Undecided | WithinLayoutLuck) or verdict.needs is None:
                continue
            sides = plans[0], plans[place]
            have = MoreOfEach(
                boots=min(sum(side.boots.values()) for side in sides),
                images=min(len(side.boots) for side in sides),
            )
            needs = verdict.needs
            if len(verdicts) > 1:
                if not _within(needs, have, limits):
                    continue
                needs = MoreOfEach(
                    boots=max(needs.boots, have.boots),
                    images=max(needs.images, have.images) if needs.images else 0,
                )
            more = next_of_each(needs, have)
            for side in (0, place):
                grow = _with_images if more.images else _with_boots
                after[side] = grow(after[side], have, more, limits)
    return tuple(after)


def _within(needs: MoreOfEach, have: MoreOfEach, limits: BootLimits) -> bool:
    if needs.images:
        return needs.images <= min(limits.images - have.images, MOST - 1)
    return needs.boots <= min(limits.boots * have.images - have.boots, MOST - 1)


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


def same_as(built: Sequence[Hashable | None]) -> dict[int, int]:
    """By the places of variants that came out as one before them, its place; None tells nothing."""
    first: dict[Hashable, int] = {}
    same: dict[int, int] = {}
    for place, one in enumerate(built):
        if one is None:
            continue
        if one in first:
            same[place] = first[one]
        else:
            first[one] = place
    return same


def no_op(label: str, other: str, item: ItemUnderTest) -> str:
    """Why a variant is not measured that came out as another one."""
    # A kernel holds when and where it was built; what else is compared is compared byte for byte.
    but = " but for its version" if item is ItemUnderTest.KERNEL else ""
    return f"no-op change: the {item.built} of {label} is that of {other}{but}"


def why_one_image(metric: Metric, *, most: int, otherwise: str) -> str:
    """Why no variant has further images; '' where each may have some.

    `most` is how many of each were asked for, `otherwise` what the set-up or the builds say.
    """
    if metric.noise is NoiseClass.EXACT:
        return f"{metric.unit} do not depend on the link order"
    return otherwise or ("one of each was asked for" if most == 1 else "")


class InEpoch(Protocol):
    """What was measured while the lab was as its `epoch` says."""

    @property
    def epoch(self) -> str:
        """The label that a person changes when the lab changes."""


BootT = TypeVar("BootT", bound=InEpoch)


def of_newest_epoch(boots: Sequence[BootT]) -> tuple[list[BootT], list[BootT]]:
    """The boots of the epoch in which the last one was measured, and all others."""
    newest = boots[-1].epoch if boots else ""
    return (
        [boot for boot in boots if boot.epoch == newest],
        [boot for boot in boots if boot.epoch != newest],
    )


def left_out(
    others: Iterable[tuple[str, str]], newest: str, item: ItemUnderTest = ItemUnderTest.KERNEL
) -> str:
    """Says what is left out: a label and an epoch for each boot; empty for none."""
    counted = Counter(others)
    if not counted:
        return ""
    boots = ", ".join(
        f"{number} of {label} in {epoch_name(epoch)}" for (label, epoch), number in counted.items()
    )
    total = count(counted.total(), item.iteration)
    changed = f"for the {item.place} changed: {boots}"
    return f"{total} left out, {changed}; these are of {epoch_name(newest)}"


def epoch_name(epoch: str) -> str:
    """An epoch as a sentence names it."""
    return f"epoch {quoted(epoch)}" if epoch else "the epoch without a name"


_NONE = "none"


def recorded_boots(
    boots: Iterable[tuple[int, Mapping[str, Any]]], variants: int
) -> tuple[str, ...]:
    """How boots of variants (place, facts) were dealt, as the last of each says; else empty."""
    told = [_NONE] * variants
    for place, facts in boots:
        if RECORDED_BOOTS in facts:
            told[place] = one_line(str(facts[RECORDED_BOOTS]))
    return tuple(told) if set(told) != {_NONE} else ()


def recorded_notes(recorded: Sequence[str], labels: Sequence[str]) -> Iterator[str]:
    """The same in words: once, where it is the same of all variants."""
    for told in dict.fromkeys(recorded):
        of = [label for label, own in zip(labels, recorded, strict=True) if own == told]
        whose = "of each variant" if len(of) == len(labels) else f"of {', '.join(of)}"
        yield f"recorded boots {whose}: {told}"
