"""The strongest change of level in a segment of history, weighed against fresh boots."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from scipy.special import stdtr, stdtrit

from buildbot_bench.core.contrast.denial import ImageVotes, image_votes, is_beyond_layout
from buildbot_bench.core.judge.images import (
    Floats,
    Image,
    Row,
    Splits,
    fresh_boots,
    is_layout,
    is_sure_layout,
    log_bayes_factor,
    screened_at_s,
)
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import Noise, robust_level, spread_of_boots

_PLACE_DOUBT = 0.005  # of the probability of place lies before `first`
_ANCHOR_REACH = 5  # images among which the one nearest to the old level is the anchor
_MAX_PROBABILITY = 0.9999  # no model of a lab is better than that


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedSide:
    """The votes of the images at the `positions` of one side of a change.

    `luck` is by how much luck with these images is likelier than the change.
    """

    votes: ImageVotes
    positions: int
    luck: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A place where the level may have changed, and all that speaks for and against it.

    `began` is the first position at the new level, `start` its number, `first` the earliest
    position at which the change may have come. `new` are the images that are judged, `old_level`
    is the mean of those before the change. `difference` is in logarithms; `standard_error` and
    `df` are its. `old_side` and `new_side` tell how the images of each vote. `log_evidence` sums
    over places, `log_best` is that of the best place, `log_limit` what it could become with endless
    boots of the images at hand. `old_fresh` and `new_fresh` are the fresh boots of both sides,
    `older_fresh` counts those of all earlier positions.
    """

    start: int
    began: int
    first: int
    anchor: Image
    new: tuple[Image, ...]
    old_level: float
    difference: float
    standard_error: float
    df: float
    old_side: JudgedSide
    new_side: JudgedSide
    log_evidence: float
    log_best: float
    log_limit: float
    old_fresh: tuple[float, ...]
    new_fresh: tuple[float, ...]
    older_fresh: int

    @property
    def interval(self) -> tuple[float, float, float]:
        """The effect as a fraction of the old level, with the ends of its 95 % interval."""
        reach = float(stdtrit(self.df, 0.975)) * self.standard_error
        low, middle, high = (math.expm1(self.difference + step) for step in (-reach, 0.0, reach))
        return middle, low, high

    @property
    def probability(self) -> float:
        """The probability of a change: prior odds times evidence, luck with images allowed for.

        It is no higher than that of the sign, by the interval: that knows how far the lab wandered.
        """
        against = math.exp(-min(self.log_evidence, 50.0)) + self.luck
        odds = constants.CHANGES_PER_COMMIT / against
        sign = float(stdtr(self.df, abs(self.difference) / self.standard_error))
        return min(odds / (1 + odds), sign, _MAX_PROBABILITY)

    @property
    def luck(self) -> float:
        """By how much luck with the images of a side is likelier than the change."""
        if is_beyond_layout(self.difference):
            return 0.0
        return self.old_side.luck + self.new_side.luck

    def shown_again(self, noise: Noise) -> float:
        """How sure fresh boots of both sides alone are of a change of this sign (0..1, by t)."""
        towards = self._fresh_difference(noise) / self._fresh_error(noise)
        return float(stdtr(noise.df_run, towards))

    def denied(self, noise: Noise) -> float:
        """How sure they are that it is less than half of what was suspected."""
        missing = abs(self.difference) / 2 - self._fresh_difference(noise)
        layout = noise.sigma_build * math.sqrt(1 + 1 / len(self.new))  # the anchor's, and these
        error = math.hypot(self._fresh_error(noise), layout)
        return float(stdtr(min(noise.df_run, noise.df_build), missing / error))

    @property
    def is_layout(self) -> bool:
        """Whether it is one image's layout that makes the difference."""
        return is_layout(self.new, self.old_level)

    def is_sure_layout(self, noise: Noise) -> bool:
        """Whether it is, and further images would say the same."""
        return is_sure_layout(self.new, self.old_level, noise.sigma_build)

    def _fresh_error(self, noise: Noise) -> float:
        sides = (self.new_fresh, self.old_fresh)
        return math.sqrt(
            sum(spread_of_boots(logs, noise.sigma_run) ** 2 / len(logs) for logs in sides)
        )

    def _fresh_difference(self, noise: Noise) -> float:
        """By how much the sides differ in fresh boots, positive in the suspected direction."""
        new, old = (
            robust_level(logs, noise.sigma_run) for logs in (self.new_fresh, self.old_fresh)
        )
        return math.copysign(1.0, self.difference) * (new - old)


def strongest(images: Sequence[Image], levels: Row, start: int, end: int) -> Finding | None:
    """What speaks most for a change among positions[start:end]; None if nothing is suspicious.

    `levels` sums up `images`. The last position is the one that is judged: its first boot shows
    which are fresh.
    """
    begin, place = levels.places(start, np.asarray(end))
    place = np.sort(place[place > 0])
    if not place.size:
        return None
    splits = levels.split(begin, place, np.asarray(end))
    if splits.log_evidence.max() < math.log(constants.SUSPICIOUS):
        return None
    total = float(np.logaddexp.reduce(splits.log_evidence))
    placed = splits.alike_sure(levels.min_effect)
    best = int(np.argmax(placed))
    share = np.exp(placed - np.logaddexp.reduce(placed))
    doubt = int(np.searchsorted(np.cumsum(share), _PLACE_DOUBT))
    earliest = int(place[min(doubt, best)])
    old = images[levels.index(int(begin)) : levels.index(earliest)]
    new = images[levels.index(end - 1) : levels.index(end)]
    since_s = screened_at_s(new)
    difference = float(splits.difference[best])
    old_level = fmean(image.level for image in old)
    began = levels.index(int(place[best]))
    levels_of = (old_level, old_level + difference)
    return Finding(
        start=int(place[best]),
        began=images[began].position,
        first=old[-1].position + 1,
        anchor=_anchor(old, since_s),
        new=tuple(new),
        old_level=old_level,
        difference=difference,
        standard_error=math.hypot(
            _standard_error(splits, best, share),
            _drift(difference, old, new, levels.noise),
        ),
        df=float(splits.df[best]),
        old_side=_side(old, *levels_of, levels.noise),
        new_side=_side(images[began : levels.index(end)], *levels_of[::-1], levels.noise),
        log_evidence=total,
        log_best=float(splits.log_evidence[best]),
        log_limit=_limit(splits, best, levels),
        old_fresh=_fresh(old, since_s),
        new_fresh=_fresh(new, since_s),
        older_fresh=len(_fresh(images[levels.index(int(begin)) : levels.index(end - 1)], since_s)),
    )


def _side(images: Sequence[Image], level: float, other: float, noise: Noise) -> JudgedSide:
    """The votes of a side at `level`, and its luck: far images lie at the `other` one."""
    votes = image_votes(
        ((image.level, math.sqrt(image.variance)) for image in images), level=level, other=other
    )
    return JudgedSide(
        votes=votes,
        positions=len({image.position for image in images}),
        luck=votes.luck(_far_share(noise, below=level < other), noise.far_weight),
    )


def _far_share(noise: Noise, *, below: bool) -> float:
    return noise.far_below if below else noise.far_share - noise.far_below


def _standard_error(splits: Splits, best: int, share: Floats) -> float:
    """That of the difference, with the doubt about the place: the other places' D weigh in."""
    spread = splits.variance + (splits.difference - splits.difference[best]) ** 2
    return math.sqrt(float(np.sum(share * spread)))


def _drift(difference: float, old: Sequence[Image], new: Sequence[Image], noise: Noise) -> float:
    """How far the lab wandered between the two sides, as a standard deviation; 0 if not at all.

    Fresh boots of both sides are made in turns and share the lab's mood of the hour; the rest of
    history does not. What the two estimates of the change differ by beyond chance is drift: the
    moment estimate of DerSimonian and Laird (1986) from one pair.
    """
    since_s = screened_at_s(new)
    sides = [[image for image in side if fresh_boots(image, since_s)] for side in (old, new)]
    if not all(sides):
        return 0.0
    boots = [_fresh(side, since_s) for side in sides]
    before, after = (robust_level(logs, noise.sigma_run) for logs in boots)
    chance = sum(
        noise.sigma_run**2 / len(logs) + noise.sigma_build**2 / len(side)
        for logs, side in zip(boots, sides, strict=True)
    )
    return math.sqrt(max((after - before - difference) ** 2 - chance, 0.0))


def _limit(splits: Splits, best: int, levels: Row) -> float:
    """The evidence, if endless boots of the same images gave the same difference."""
    return float(
        log_bayes_factor(
            splits.difference[best],
            splits.build_variance[best],
            np.asarray(levels.noise.df_build),
            levels.min_effect,
        )
    )


def _anchor(old: Sequence[Image], since_s: float) -> Image:
    """A typical image of the old level, not far back; the same again once it has fresh boots."""
    middle = median(image.level for image in old)
    return max(
        old[-_ANCHOR_REACH:],
        key=lambda image: (len(fresh_boots(image, since_s)), -abs(image.level - middle)),
    )


def _fresh(images: Sequence[Image], since_s: float) -> tuple[float, ...]:
    return tuple(log for image in images for log in fresh_boots(image, since_s))
