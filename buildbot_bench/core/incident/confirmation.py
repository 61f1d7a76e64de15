"""The verdict whether a step found on one series exists on another series too.

The step is *confirmed* when it surely has the claimed direction (under the wider build noise too)
and at least half the relevant size, and Student's t of the boots agrees; *denied* when it is
smaller than that half and surely not relevant. Probabilities are corrected for the number of looks
(LOOKS) by Bonferroni.

Below BEYOND_LAYOUT both sides need two images each; a third decides between two that disagree, and
a step that no majority of images shows (core.model.image_votes) is not confirmed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from buildbot_bench.core import ministat
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.incident.contrast import (
    SeriesContrast,
    Side,
    Sides,
    contrast,
    images_at,
    that_agree,
)
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.judge import BEYOND_LAYOUT
from buildbot_bench.core.model import constants
from buildbot_bench.core.search import Evidence, SearchPolicy

LOOKS = (3, 5, 8, 12, 20)
"""Boots of each side after which it is looked: Student's least, then half as many more each time.
Three show a step of 5 run noises, and nearly always one of 3."""

_ONE_LAYOUT = "no second image exists: luck with layout is possible"
_MOSTLY = 0.5  # of the variance of a step: then another image tells more than boots of these
_MOST_IMAGES = 5  # of a side; as core.judge.rounds has it
_SHOWN = 0.5  # of the step: what shows more is nearer to the new level than to the old one


class Standing(StrEnum):
    """What is known of an incident's step on one of its series; `waiting`: not enough yet."""

    WAITING = "waiting"
    CONFIRMED = "confirmed"
    DENIED = "denied"
    UNCLEAR = "unclear"


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedBoots:
    """So many iterations of build `image` of a position."""

    position: int
    image: int
    iterations: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be measured next, side by side."""

    boots: tuple[WantedBoots, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """The verdict: `effect` is a fraction of the old level, with its 95 % interval low..high."""

    standing: Standing
    effect: float
    low: float
    high: float
    reason: str


def confirmation(
    old: int,
    new: int,
    evidence: Evidence,
    policy: SearchPolicy,
    *,
    confidence: float = 95.0,
    item: ItemUnderTest = ItemUnderTest.KERNEL,
) -> Wanted | Confirmation:
    """What is next on the way to know whether the step in (old, new] is on this series, too.

    `evidence` is that of this series, positions as `old` and `new`; of positions with the kernel
    of a side the boots count. `policy` is what is known of the series: `claimed` the effect of
    its alarm, `error` the accepted probability of a wrong verdict. `confidence` is Student's t's.
    `item` is what the reason is about.
    Values that are not positive are passed over.
    """
    if confidence not in ministat.CONFIDENCE_LEVELS:
        raise UsageError(f"a confidence of {confidence} %", hint="take one of ministat's")
    at = (old, new)
    sides = (
        images_at(old, evidence, policy.sigma_run),
        images_at(new, evidence, policy.sigma_run),
    )
    claimed = _claimed(policy)
    relinked = policy.layout and abs(claimed) < BEYOND_LAYOUT
    if first := _first_boots(at, sides, two=relinked and policy.images):
        return Wanted(boots=first)
    apart = abs(math.log1p(claimed)) * _SHOWN
    agreeing = (that_agree(sides[0], apart), that_agree(sides[1], apart))
    step = contrast(sides, replace(policy, layout=relinked), apart=apart)
    if policy.layout and not relinked and abs(math.expm1(step.delta)) < BEYOND_LAYOUT:
        relinked, step = True, contrast(sides, policy, apart=apart)
    if relinked and policy.images:
        first = _first_boots(at, sides, two=True) or _disputed(at, sides, apart)
        if first:
            return Wanted(boots=first)
    boots = f"{item.iteration}s"
    verdict = _judged(agreeing, step, policy, boots, relinked=relinked, confidence=confidence)
    if verdict is not None:
        return verdict
    if relinked and not policy.images and step.of_images > _MOSTLY:
        return _verdict(Standing.UNCLEAR, step, _ONE_LAYOUT)
    more = _more(at, sides, step, images=relinked and policy.images)
    return more or _verdict(Standing.UNCLEAR, step, f"more {boots} would not decide it")


def leaves_a_rest(found: Confirmation, low: float, high: float, min_effect: float) -> bool:
    """Whether an alarm of low..high saw clearly more than the step that is confirmed.

    The rest, at least `min_effect`, is then another commit's.
    """
    least = min(abs(low), abs(high)) if low * high > 0 else 0.0
    return least - max(abs(found.low), abs(found.high)) >= min_effect


def _claimed(policy: SearchPolicy) -> float:
    """The effect of the alarm; without one, the least that is relevant and worse."""
    if policy.claimed is not None:
        return max(policy.claimed, -0.99)
    return -policy.min_effect if policy.higher_is_better else policy.min_effect


def _judged(
    sides: Sides,
    step: SeriesContrast,
    policy: SearchPolicy,
    boots: str,
    *,
    relinked: bool,
    confidence: float,
) -> Confirmation | None:
    """The verdict on sides whose images agree; None when `boots`, so called, do not tell yet."""
    sign, relevant = math.copysign(1.0, _claimed(policy)), math.log1p(policy.min_effect)
    least, sure = relevant * _SHOWN, 1 - policy.error / len(LOOKS)
    if sign * step.delta < least and 1 - step.sure_above(relevant, sign) >= sure:
        return _verdict(Standing.DENIED, step, f"{boots} of both sides do not show it")
    shown = sign * step.delta >= least and step.sure_above(0.0, sign) >= sure
    if not (shown and _is_significant(sides, confidence)):
        return None
    if not relinked:
        return _verdict(Standing.CONFIRMED, step, f"{boots} of both sides show it")
    in_each = step.sure_above_in_each(0.0, sign) >= sure
    return _by_images(sides, step, policy, boots, in_each=in_each)


def _by_images(
    sides: Sides, step: SeriesContrast, policy: SearchPolicy, boots: str, *, in_each: bool
) -> Confirmation | None:
    """The verdict on a step that boots show; None when its images do not tell yet.

    `in_each`: it is sure with each build noise that is thought of.
    """
    alone = min(map(len, sides)) < constants.IMAGES_THAT_SHOW
    if alone and not policy.images:
        return _verdict(Standing.UNCLEAR, step, _ONE_LAYOUT)
    if alone or any(votes.contradicted for votes in step.votes):
        return _verdict(Standing.DENIED, step, "each image shows another level: it is layout")
    if in_each and all(votes.stands for votes in step.votes):
        return _verdict(Standing.CONFIRMED, step, f"{boots} of two images of each side show it")
    return None


def _first_boots(at: Sequence[int], sides: Sides, *, two: bool) -> tuple[WantedBoots, ...]:
    """What both sides lack of the first look; a second image has one boot of it at least."""
    wanted = []
    for position, side in zip(at, sides, strict=True):
        images = list(side) or [0]
        lacking = {}
        if two and len(images) < constants.IMAGES_THAT_SHOW:
            lacking[max(images) + 1] = 1
        missing = LOOKS[0] - sum(map(len, side.values())) - len(lacking)
        if missing > 0:
            lacking[images[0]] = missing
        wanted += _boots(position, lacking)
    return tuple(wanted)


def _disputed(at: Sequence[int], sides: Sides, apart: float) -> tuple[WantedBoots, ...]:
    """What tells which of two images of a side is right: more boots of both, then a third.

    Two contradict each other by more than half of what was claimed: with so few boots the level
    that they would have to deny (core.model.image_votes) is their own mean.
    """
    wanted = []
    for position, side in zip(at, sides, strict=True):
        means = [fmean(logs) for logs in side.values()]
        if len(side) > constants.IMAGES_THAT_SHOW or max(means) - min(means) <= apart:
            continue
        lacking = {image: constants.BOOTS_THAT_DENY - len(logs) for image, logs in side.items()}
        third = {max(side) + 1: constants.BOOTS_THAT_DENY}
        wanted += _boots(position, lacking) or _boots(position, third)
    return tuple(wanted)


def _more(at: Sequence[int], sides: Sides, step: SeriesContrast, *, images: bool) -> Wanted | None:
    """What both sides lack of the next look; None at the end.

    More boots of the images that have fewest; further images where these are what differs.
    """
    fewest = min(map(len, sides))
    if images and step.of_images > _MOSTLY and fewest < _MOST_IMAGES:
        further = [
            _boots(position, {max(side) + 1: constants.IMAGES_THAT_SHOW})
            for position, side in zip(at, sides, strict=True)
        ]
        return Wanted(boots=(*further[0], *further[1]))
    fewer = min(sum(map(len, side.values())) for side in sides)
    goal = next((look for look in LOOKS if look > fewer), None)
    if goal is None:
        return None
    return Wanted(
        boots=tuple(
            boots
            for position, side in zip(at, sides, strict=True)
            for boots in _boots(position, _up_to(goal, side))
        )
    )


def _up_to(goal: int, side: Side) -> dict[int, int]:
    """How many boots more of which images make `goal` of a side, dealt evenly."""
    have = {image: len(logs) for image, logs in side.items()}
    for _ in range(goal - sum(have.values())):
        have[min(have, key=lambda image: have[image])] += 1
    return {image: count - len(side[image]) for image, count in have.items()}


def _boots(position: int, lacking: dict[int, int]) -> list[WantedBoots]:
    return [
        WantedBoots(position=position, image=image, iterations=count)
        for image, count in sorted(lacking.items())
        if count > 0
    ]


def _is_significant(sides: Sides, confidence: float) -> bool:
    old, new = ([math.exp(log) for logs in side.values() for log in logs] for side in sides)
    if min(len(old), len(new)) < ministat.MIN_VALUES:
        return False
    return ministat.compare(old, new, confidence=confidence).significant


def _verdict(standing: Standing, step: SeriesContrast, reason: str) -> Confirmation:
    effect, low, high = step.interval
    return Confirmation(standing=standing, effect=effect, low=low, high=high, reason=reason)
