"""The verdict whether a step found on one series exists on another series too.

The step is *confirmed* when it surely has the claimed direction (also where images vary more than
the policy says) and at least half the relevant size, and Student's t of the boots agrees; *denied*
when it is smaller than that half and surely not relevant. Probabilities (core.contrast) are
corrected for the number of looks (LOOKS) by Bonferroni.

Below BEYOND_LAYOUT both sides need two images each; a third decides between two that disagree, and
a step that no majority of images shows (core.contrast.denial) is not confirmed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from buildbot_bench.core import ministat
from buildbot_bench.core.contrast.denial import MOST_IMAGES, is_beyond_layout
from buildbot_bench.core.contrast.difference import Difference, difference
from buildbot_bench.core.contrast.needed import MoreOfEach, more_needed, next_of_each
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.judge.model import Remeasure
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import KNOWN_DF, Noise, wider_build
from buildbot_bench.core.search import Evidence, SearchPolicy

LOOKS = (3, 5, 8, 12, 20)
"""Boots of each side after which it is looked: Student's least, then half as many more each time.
Three show a step of 5 run noises, and nearly always one of 3."""

_ONE_LAYOUT = "no second image exists: luck with layout is possible"
_MOSTLY = 0.5  # of the variance of a step: then another image tells more than boots of these
_DF_WIDER = 16.0  # of the wider build noise: that of a learnt one, so that none is wider still
_SHOWN = 0.5  # of the step: what shows more is nearer to the new level than to the old one

Side = Mapping[int, tuple[float, ...]]
"""The values of the boots of one side's images, by image."""

Sides = tuple[Side, Side]


class Standing(StrEnum):
    """What is known of an incident's step on one of its series; `waiting`: not enough yet."""

    WAITING = "waiting"
    CONFIRMED = "confirmed"
    DENIED = "denied"
    UNCLEAR = "unclear"


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
) -> tuple[Remeasure, ...] | Confirmation:
    """What boots are next on the way to know whether the step in (old, new] is on this series, too.

    `evidence` is that of this series, positions as `old` and `new`; of positions with the kernel
    of a side the boots count. `policy` is what is known of the series: `claimed` the effect of
    its alarm, `error` the accepted probability of a wrong verdict. `confidence` is Student's t's.
    `item` is what the reason is about.
    Values that are not positive are passed over.
    """
    if confidence not in ministat.CONFIDENCE_LEVELS:
        raise UsageError(f"a confidence of {confidence} %", hint="take one of ministat's")
    at = (old, new)
    sides = (_images_at(old, evidence), _images_at(new, evidence))
    relinked = policy.layout and not is_beyond_layout(math.log1p(_claimed(policy)))
    if first := _first_boots(at, sides, two=relinked and policy.images):
        return first
    step, noise = _seen(sides, policy, layout=relinked)
    if policy.layout and not (relinked or is_beyond_layout(step.quantile(0.5))):
        relinked = True
        if policy.images and (first := _first_boots(at, sides, two=True)):
            return first
        step, noise = _seen(sides, policy, layout=True)
    if relinked and policy.images and (first := _disputed(at, sides, step)):
        return first
    boots = f"{item.iteration}s"
    verdict = _judged(sides, step, policy, boots, relinked=relinked, confidence=confidence)
    if verdict is None and relinked and not policy.images and step.of_images > _MOSTLY:
        return _verdict(Standing.UNCLEAR, step, _ONE_LAYOUT)
    more = verdict or _more(at, sides, step, noise, policy, images=relinked and policy.images)
    return more or _verdict(Standing.UNCLEAR, step, f"more {boots} would not decide it")


def leaves_a_rest(found: Confirmation, low: float, high: float, min_effect: float) -> bool:
    """Whether an alarm of low..high saw `min_effect` more than the step: another commit's rest."""
    least = min(abs(low), abs(high)) if low * high > 0 else 0.0
    return least - max(abs(found.low), abs(found.high)) >= min_effect


def _claimed(policy: SearchPolicy) -> float:
    """The effect of the alarm; without one, the least that is relevant and worse."""
    if policy.claimed is not None:
        return max(policy.claimed, -0.99)
    return -policy.min_effect if policy.higher_is_better else policy.min_effect


def _seen(sides: Sides, policy: SearchPolicy, *, layout: bool) -> tuple[Difference, Noise]:
    """The step by the policy's noise; where that shows it, by the wider build noise.

    All else is then taken for known: one thing at a time is worse than the policy says.
    """
    noise = _noise(policy)
    step = difference(*sides, noise, layout=layout)
    if not (layout and _is_shown(step, policy)):
        return step, noise
    wider = wider_build(noise.sigma_build, noise.sigma_run)
    noise = replace(noise, sigma_build=wider, df_build=_DF_WIDER, far_weight=KNOWN_DF)
    return difference(*sides, noise), noise


def _sure(policy: SearchPolicy) -> float:
    return 1 - policy.error / len(LOOKS)


def _noise(policy: SearchPolicy) -> Noise:
    """The noise of the policy, which says of none of it how well it is known."""
    far = constants.FAR_SHARE if policy.far_share is None else policy.far_share
    return Noise(
        sigma_run=constants.RUN_NOISE if policy.sigma_run is None else policy.sigma_run,
        sigma_build=policy.sigma_build or 0.0,
        df_run=constants.PRIOR_DF,
        df_build=constants.PRIOR_DF,
        far_share=far,
        far_below=far / 2,
    )


def _images_at(position: int, evidence: Evidence) -> Side:
    """The positive values of all boots of a position's kernel."""
    kernel = _kernel(position, evidence)
    found: dict[int, list[float]] = {}
    for one in evidence.measurements:
        if one.value > 0 and _kernel(one.position, evidence) == kernel:
            found.setdefault(one.image, []).append(one.value)
    return {image: tuple(found[image]) for image in sorted(found)}


def _kernel(position: int, evidence: Evidence) -> int:
    while position in evidence.same_as_previous:
        position -= 1
    return position


def _judged(
    sides: Sides,
    step: Difference,
    policy: SearchPolicy,
    boots: str,
    *,
    relinked: bool,
    confidence: float,
) -> Confirmation | None:
    """The verdict on a step; None when `boots`, so called, or images do not tell yet."""
    sign, relevant = math.copysign(1.0, _claimed(policy)), math.log1p(policy.min_effect)
    small = sign * step.quantile(0.5) < relevant * _SHOWN
    if small and 1 - step.sure_beyond(relevant, sign) >= _sure(policy):
        return _verdict(Standing.DENIED, step, f"{boots} of both sides do not show it")
    if relinked and step.contradicted:
        return _verdict(Standing.DENIED, step, "each image shows another level: it is layout")
    old, new = (tuple(chain.from_iterable(side.values())) for side in sides)
    student = ministat.compare_if_enough(old, new, confidence=confidence)
    if student is None or not (student.significant and _is_shown(step, policy)):
        return None
    if not relinked:
        return _verdict(Standing.CONFIRMED, step, f"{boots} of both sides show it")
    return _by_images(step, boots)


def _is_shown(step: Difference, policy: SearchPolicy) -> bool:
    """Whether the step surely has the claimed sign, and half of the relevant size."""
    sign, relevant = math.copysign(1.0, _claimed(policy)), math.log1p(policy.min_effect)
    large = sign * step.quantile(0.5) >= relevant * _SHOWN
    return large and step.sure_beyond(0.0, sign) >= _sure(policy)


def _by_images(step: Difference, boots: str) -> Confirmation | None:
    """The verdict on a step that boots show and no image denies; None if its images say little."""
    if step.fewest_images < constants.IMAGES_THAT_SHOW:
        return _verdict(Standing.UNCLEAR, step, _ONE_LAYOUT)
    if all(votes.stands for votes in step.votes):
        return _verdict(Standing.CONFIRMED, step, f"{boots} of two images of each side show it")
    return None


def _first_boots(at: Sequence[int], sides: Sides, *, two: bool) -> tuple[Remeasure, ...]:
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


def _disputed(at: Sequence[int], sides: Sides, step: Difference) -> tuple[Remeasure, ...]:
    """What tells which images of a side are right: more boots of those at hand, then another."""
    wanted = []
    for position, side, votes in zip(at, sides, step.votes, strict=True):
        if not votes.contradicted or len(side) >= MOST_IMAGES:
            continue
        lacking = {image: constants.BOOTS_THAT_DENY - len(boots) for image, boots in side.items()}
        further = {max(side) + 1: constants.BOOTS_THAT_DENY}
        wanted += _boots(position, lacking) or _boots(position, further)
    return tuple(wanted)


def _more(
    at: Sequence[int],
    sides: Sides,
    step: Difference,
    noise: Noise,
    policy: SearchPolicy,
    *,
    images: bool,
) -> tuple[Remeasure, ...]:
    """What both sides get next of what they need, up to the next look."""
    needs = more_needed(
        step,
        noise,
        min_effect=policy.min_effect,
        sure=_sure(policy),
        sure_of_less=_sure(policy),
        images=images,
    )
    if needs is None:
        return ()
    fewer, fewest = min(sum(map(len, side.values())) for side in sides), step.fewest_images
    more = next_of_each(needs, MoreOfEach(boots=fewer, images=fewest))
    if more.images and fewest < MOST_IMAGES:
        boots = min(math.ceil(more.boots / more.images), constants.BOOTS_THAT_DENY)
        lacking = [{max(side) + 1: boots} for side in sides]
        return (*_boots(at[0], lacking[0]), *_boots(at[1], lacking[1]))
    goal = next((look for look in LOOKS if look >= min(fewer + more.boots, LOOKS[-1])), None)
    if goal is None or goal <= fewer:
        return ()
    lacking = [_up_to(goal, side) for side in sides]
    return (*_boots(at[0], lacking[0]), *_boots(at[1], lacking[1]))


def _up_to(goal: int, side: Side) -> dict[int, int]:
    """How many boots more of which images make `goal` of a side, dealt evenly."""
    have = {image: len(logs) for image, logs in side.items()}
    for _ in range(goal - sum(have.values())):
        have[min(have, key=lambda image: have[image])] += 1
    return {image: count - len(side[image]) for image, count in have.items()}


def _boots(position: int, lacking: Mapping[int, int]) -> list[Remeasure]:
    return [
        Remeasure(position=position, image=image, iterations=number)
        for image, number in sorted(lacking.items())
        if number > 0
    ]


def _verdict(standing: Standing, step: Difference, reason: str) -> Confirmation:
    effect, low, high = step.interval(95.0)
    return Confirmation(standing=standing, effect=effect, low=low, high=high, reason=reason)
