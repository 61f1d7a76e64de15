"""The boots and images that a step still lacks before a report may name it.

Both sides need as many values as Student's t takes (two of a repeating exact metric) and as
separate them; more where boots may have two modes. Below BEYOND_LAYOUT two images of each side must
show the step, by a majority of votes (core.contrast.denial).
"""

from dataclasses import dataclass
from math import log1p, sqrt

import numpy as np
from scipy.special import stdtr

from buildbot_bench.core.contrast.denial import (
    MOST_IMAGES,
    ImageVotes,
    image_votes,
    is_beyond_layout,
    shows_step,
)
from buildbot_bench.core.model import constants
from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.search_range import BoolArray, FloatArray
from buildbot_bench.core.search.slopes import NORMAL_95, Levels, change_between
from buildbot_bench.core.search.two_speeds import far_images

# On some machines a fifth of the boots is slower, by three deviations of the noise or so, and until
# that was seen such a machine looks like any other. Each halving of the range is a chance to take a
# slow boot for a change; so many of one kernel in a row are slow in about one of 150 searches. The
# mean of k boots may lie further off than the mode, by _UNSURE / sqrt(k) deviations of the noise.
# Where it lies further than that, fewer boots are enough.
_BOOTS_AGAINST_A_MODE = 4
_MODE, _UNSURE = 3.0, 2.0  # deviations of the noise, as told above
# Boots of a side from which on Student's t is not waited for: outliers widen it without end.
_MOST_FOR_T = 8
# On a machine that others use, both sides are run in turn so often: if spells last no longer than a
# turn, all of one side fall in slow spells and all of the other in fast ones in one of 128 cases.
# The turns show a step where their change is less than the step by no more than its standard error,
# or by a tenth. Chosen by reasoning.
_TURNS, _ROUNDED = 4, 0.1
# Of the accepted error, the share that images of two speeds may make without being asked about.
_SHARE_OF_SPEEDS = 0.5
_DOUBTFUL = 0.1  # the probability from which on an end's only image may lie far off


@dataclass(frozen=True, kw_only=True, slots=True)
class StepSide:
    """One side of a step: its measured kernel, boots, and images that show or deny the step."""

    place: int
    boots: int
    votes: ImageVotes


@dataclass(frozen=True, kw_only=True, slots=True)
class Lacking:
    """A measured kernel that needs another boot; of another image when `anew`, or of this one."""

    place: int
    anew: bool
    image: int | None = None


def needs_images(posterior: AveragedPosterior, policy: SearchPolicy, gap: int) -> bool:
    """Whether luck with layout may do as much as the step in this gap."""
    return policy.layout and not is_beyond_layout(float(posterior.change[gap]))


def sides(posterior: AveragedPosterior, gap: int) -> tuple[StepSide, StepSide]:
    """The old and the new side of the step in a gap."""
    level = posterior.level.mean
    old, new = float(level[gap]), float(level[gap + 1])
    return _side(posterior, gap, old, new), _side(posterior, gap + 1, new, old)


def _side(posterior: AveragedPosterior, place: int, level: float, other: float) -> StepSide:
    readings = posterior.seen
    here = readings.place == place
    boots = readings.boots_of_image[here]
    error = posterior.models[0].noise.run / np.sqrt(boots)
    images = zip(readings.level_of_image[here].tolist(), error.tolist(), strict=True)
    return StepSide(
        place=place, boots=int(boots.sum()), votes=image_votes(images, level=level, other=other)
    )


def is_denied(posterior: AveragedPosterior, policy: SearchPolicy, gap: int) -> bool:
    """Whether images of one side contradict the step, and no more of them can be made."""
    if not needs_images(posterior, policy, gap):
        return False
    pair = sides(posterior, gap)
    return any(side.votes.contradicted and not _may_ask(side, policy) for side in pair)


def is_separated(posterior: AveragedPosterior, policy: SearchPolicy, gap: int) -> bool:
    """Whether the step stands on images enough that it is not luck with the layout of one."""
    if not needs_images(posterior, policy, gap):
        return True
    return all(side.votes.stands for side in sides(posterior, gap))


def lacking(
    posterior: AveragedPosterior, policy: SearchPolicy, own: Levels, gap: int
) -> list[Lacking]:
    """What the step in a gap needs before it may be mailed; nothing when it is proved.

    `own` are the levels of the kernels by their own images.
    """
    pair = sides(posterior, gap)
    wanting = []
    if needs_images(posterior, policy, gap):
        wanting = [
            Lacking(place=side.place, anew=True)
            for side in pair
            if not side.votes.stands and _may_ask(side, policy)
        ]
    if policy.spells and not wanting:
        wanting = _in_turn(posterior, pair)
        if wanting:
            return wanting
    needed = _boots_needed(posterior, policy, gap)
    wanting += [
        Lacking(place=side.place, anew=False)
        for side, boots in zip(pair, needed, strict=True)
        if side.boots < boots
    ]
    if wanting := wanting or _for_student(posterior, pair):
        return wanting
    if needs_images(posterior, policy, gap):
        old, new = (float(level) for level in posterior.level.mean[gap : gap + 2])
        wanting = [*_again(posterior, pair[0], old, new), *_again(posterior, pair[1], new, old)]
        if wanting:
            return wanting
    change, error = change_between(own, gap, gap + 1)
    if abs(change) - error / NORMAL_95 >= log1p(policy.relevant_effect):
        return []
    return _against_slope(posterior, policy, own, gap, pair)


def _in_turn(posterior: AveragedPosterior, pair: tuple[StepSide, StepSide]) -> list[Lacking]:
    """A run of the side that was not run last, until both had their turns and these show the step.

    Runs of one side that follow each other may all lie in one spell: a turn counts as one value.
    """
    old, new = (side.place for side in pair)
    change = float(posterior.level.mean[new] - posterior.level.mean[old])
    readings = posterior.readings
    order = np.argsort(readings.at_s, kind="stable")
    order = order[np.isin(readings.place_of_value[order], (old, new))]
    places = readings.place_of_value[order]
    begins = np.flatnonzero(np.diff(places)) + 1
    turns = np.array([np.median(turn) for turn in np.split(readings.values[order], begins)])
    of_new = places[np.concatenate([[0], begins])] == new
    if min(of_new.sum(), (~of_new).sum()) >= _TURNS:
        shown = (turns[of_new].mean() - turns[~of_new].mean()) * np.sign(change)
        error = np.hypot(*(turns[one].std(ddof=1) / sqrt(one.sum()) for one in (of_new, ~of_new)))
        if shown + max(float(error), _ROUNDED * abs(change)) >= abs(change):
            return []
    return [Lacking(place=old if places[-1] == new else new, anew=False)]


def is_part_of_slope(
    posterior: AveragedPosterior, policy: SearchPolicy, own: Levels, gap: int
) -> bool:
    """Whether both sides' own boots say that the step is less than a relevant one, one of several.

    The posterior's levels are drawn to those of neighbours. That is right beside a single step; on
    a slope the neighbours lie further off, and a small step looks larger than it is.
    """
    if _explains_ends(own, gap):
        return False
    boots = min(side.boots for side in sides(posterior, gap))
    change, error = change_between(own, gap, gap + 1)
    relevant = log1p(policy.relevant_effect)
    if boots >= _MOST_FOR_T:
        return abs(change) < relevant
    return boots >= policy.values_that_prove and abs(change) + error < relevant


def against_two_speeds(
    posterior: AveragedPosterior, policy: SearchPolicy, gap: int
) -> tuple[Lacking, ...]:
    """The image that tells a likely step from images of two speeds, where these may make it.

    Only models of two speeds that do without the step count: others foretell it as well.
    """
    without = posterior.speeds_without_step[gap]
    if without <= _SHARE_OF_SPEEDS * policy.error or not needs_images(posterior, policy, gap):
        return ()
    fewer = min(sides(posterior, gap), key=lambda side: side.votes.shown + side.votes.denied)
    return (Lacking(place=fewer.place, anew=True),) if _may_ask(fewer, policy) else ()


def _against_slope(
    posterior: AveragedPosterior,
    policy: SearchPolicy,
    own: Levels,
    gap: int,
    pair: tuple[StepSide, StepSide],
) -> list[Lacking]:
    """What tells a relevant step from a part of a slope: boots of the ends, then of its sides."""
    if ends := ends_unproved(posterior, policy):
        return ends
    fewer = min(pair, key=lambda side: side.boots)
    if fewer.boots >= _MOST_FOR_T or _explains_ends(own, gap):
        return []
    return [Lacking(place=fewer.place, anew=False)]


def _explains_ends(own: Levels, gap: int) -> bool:
    """Whether the ends may differ by no more than the step in a gap."""
    change, error = change_between(own, gap, gap + 1)
    whole, error_of_whole = change_between(own, 0, len(own[0]) - 1)
    return abs(whole - change) <= float(np.hypot(error, error_of_whole))


def doubtful_ends(posterior: AveragedPosterior, policy: SearchPolicy) -> list[Lacking]:
    """The ends of the range of which one image alone says that they lie off: luck, or a step."""
    if not policy.images:
        return []
    readings, best = posterior.seen, posterior.models[0]
    level = posterior.level.mean
    far = np.abs(readings.level_of_image - level[readings.place]) > log1p(policy.relevant_effect)
    share = np.where(far, far_images(readings, best.noise, level), 0.0)
    doubtful = []
    for place in (0, len(readings.kernels) - 1):
        here = share[readings.place == place]
        if len(here) < constants.IMAGES_THAT_SHOW and here.max() > _DOUBTFUL:
            doubtful.append(Lacking(place=place, anew=True))
    return doubtful


def ends_unproved(posterior: AveragedPosterior, policy: SearchPolicy) -> list[Lacking]:
    """The ends of the range with too few boots to say by how much they differ."""
    boots = np.bincount(posterior.readings.place_of_value)
    ends = (0, len(boots) - 1)
    return [Lacking(place=end, anew=False) for end in ends if boots[end] < policy.values_that_prove]


def _may_ask(side: StepSide, policy: SearchPolicy) -> bool:
    return policy.images and side.votes.shown + side.votes.denied < MOST_IMAGES


def _boots_needed(posterior: AveragedPosterior, policy: SearchPolicy, gap: int) -> tuple[int, int]:
    """Boots of the old and of the new side."""
    level = posterior.level.mean
    is_new_slower = (level[gap + 1] < level[gap]) == policy.higher_is_better
    slower, faster = (gap + 1, gap) if is_new_slower else (gap, gap + 1)
    values = _values(posterior, slower)
    away = abs(float(values.mean()) - float(level[faster])) / posterior.models[0].noise.total
    is_near = away < _MODE + _UNSURE / np.sqrt(len(values))
    fewest = policy.values_that_prove
    of_slower = (
        max(fewest, _BOOTS_AGAINST_A_MODE) if is_near and posterior.may_have_modes else fewest
    )
    return (fewest, of_slower) if is_new_slower else (of_slower, fewest)


def _again(
    posterior: AveragedPosterior, side: StepSide, level: float, other: float
) -> list[Lacking]:
    """Second boots of a side's images, where one of them does not show the step.

    An image that was unlucky in its layout is so at every boot. Where the second boot says
    otherwise, the lab was slow for an hour, and what it measured then shows nothing: images enough
    have to show the step at two times.
    """
    readings = posterior.seen
    here = np.flatnonzero(readings.place == side.place)
    boots = readings.boots_of_image[here]
    images = readings.level_of_image[here].tolist()
    shows = np.array([shows_step(image, level=level, other=other) for image in images])
    if shows.all() or (shows & (boots > 1)).sum() >= constants.IMAGES_THAT_SHOW:
        return []
    once = np.concatenate([here[~shows & (boots == 1)], here[shows & (boots == 1)]])
    return [
        Lacking(place=side.place, anew=False, image=int(image))
        for image in readings.image[once[:1]]
    ]


def _for_student(posterior: AveragedPosterior, pair: tuple[StepSide, StepSide]) -> list[Lacking]:
    """Another boot of the side with fewer, while Student's t does not tell them apart."""
    fewer = min(pair, key=lambda side: side.boots)
    if fewer.boots >= _MOST_FOR_T:
        return []
    old, new = (_values(posterior, side.place) for side in pair)
    if np.ptp(old) == 0 and np.ptp(new) == 0:
        return []
    told_apart = fewer.boots > 1 and _p_value(old, new) < constants.PROOF_P_VALUE
    return [] if told_apart else [Lacking(place=fewer.place, anew=False)]


def _p_value(old: FloatArray, new: FloatArray) -> float:
    """Student's t of two samples that do not both repeat one value."""
    df = old.size + new.size - 2
    variance = (old.var() * old.size + new.var() * new.size) / df
    error = sqrt(variance * (1 / old.size + 1 / new.size))
    return 2 * float(stdtr(df, -abs(new.mean() - old.mean()) / error))


def _values(posterior: AveragedPosterior, place: int) -> FloatArray:
    readings = posterior.seen
    at: BoolArray = readings.place_of_value == place
    return readings.values[at]
