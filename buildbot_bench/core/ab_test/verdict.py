"""The verdict whether one side of a comparison is better or worse than the other beyond luck.

A side is *worse* or *better* when three things hold: the posterior (`difference`) is sure of the
sign (`needed.sure_at`, or VERDICT_SURE for a final look), the estimate is a change (min_effect),
and, below BEYOND_LAYOUT, two images of each side show it and no majority of a side's images denies
it. There is *no difference of N % or more* when the interval lies within ±min_effect. A difference
that only Student's t shows is *within the luck of layout*; all else is *undecided*.

Where a side can have one image alone and no history gives the build noise, the verdict is
Student's, and not separated from layout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from buildbot_bench.core import ministat
from buildbot_bench.core.ab_test.difference import (
    Difference,
    ImageLevel,
    SideBoots,
    difference,
    image_levels,
)
from buildbot_bench.core.ab_test.needed import (
    MoreOfEach,
    boots_of_image,
    has_layout,
    more_boots,
    more_needed,
    sure_at,
    told_apart_at,
)
from buildbot_bench.core.json_model import Share
from buildbot_bench.core.model import Noise, constants, is_build_noise_learnt, learn
from buildbot_bench.core.model.image_votes import image_votes
from buildbot_bench.core.model.thresholds import change_in_logs


@dataclass(frozen=True, kw_only=True, slots=True)
class Worse:
    """The new side is worse."""

    kind: Literal["worse"] = "worse"


@dataclass(frozen=True, kw_only=True, slots=True)
class Better:
    """The new side is better."""

    kind: Literal["better"] = "better"


@dataclass(frozen=True, kw_only=True, slots=True)
class NoDifference:
    """The sides do not differ by `least`, a fraction, or more."""

    least: Share
    kind: Literal["no difference"] = "no difference"


@dataclass(frozen=True, kw_only=True, slots=True)
class WithinLayoutLuck:
    """Student's t says different, but luck with layout explains it. `needs`: what would tell."""

    needs: MoreOfEach | None
    kind: Literal["within the luck of layout"] = "within the luck of layout"


@dataclass(frozen=True, kw_only=True, slots=True)
class Undecided:
    """It is not known yet. `needs`: what would tell; None if nothing that can be made does.

    `student` is set where Student alone is asked: which sign he proves, and `least`, a fraction,
    which the difference may reach or not.
    """

    needs: MoreOfEach | None
    student: Literal["better", "worse", "no sign"] | None = None
    least: Share = 0.0
    kind: Literal["undecided"] = "undecided"


SidesVerdict = Worse | Better | NoDifference | WithinLayoutLuck | Undecided


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictTerms:
    """What is asked: `min_effect` a fraction, `confidence` of intervals and of Student's t in %.

    Without `layout` both sides boot the same images. `images`: further ones can be made; `boots`:
    further boots can, which of a recording is not so.
    """

    min_effect: float
    confidence: float = 95.0
    higher_is_better: bool = True
    layout: bool = True
    images: bool = True
    boots: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSides:
    """The verdict, with the effect as a fraction of the base and its interval.

    These are the model's, or Student's where the verdict is his. `separated`: luck with the layout
    of a single image does not explain it. `student` is None where a side has too few values.
    """

    verdict: SidesVerdict
    effect: float | None
    low: float | None
    high: float | None
    separated: bool
    student: ministat.Comparison | None


def compare_sides(
    base: SideBoots, new: SideBoots, noise: Noise | None, terms: VerdictTerms
) -> ComparedSides:
    """The verdict on the boots of two sides, by image; `noise` is learnt of the series, or None.

    Values that are not positive are passed over by the model. Raises UsageError for a confidence
    that ministat has no table for, and for a value that it refuses.
    """
    told = noise or learn([])
    student = _student(base, new, terms.confidence)
    layout = terms.layout and has_layout(told)
    levels = (image_levels(base, told.sigma_run), image_levels(new, told.sigma_run))
    if student is None or not all(levels):
        return _too_few(levels, student)
    lone = layout and not terms.images and min(map(len, levels)) < constants.IMAGES_THAT_SHOW
    if lone and (noise is None or not is_build_noise_learnt(noise)):
        sure = _sure(difference(base, new, told)) >= constants.VERDICT_SURE
        return _by_student(student, terms, sure=sure)
    seen = difference(base, new, told, layout=layout)
    effect, low, high = (math.expm1(seen.quantile(share)) for share in _shares(terms.confidence))
    beyond = not layout or abs(seen.quantile(0.5)) >= math.log1p(constants.BEYOND_LAYOUT)
    verdict = _verdict(seen, levels, student, told, terms, two=not (beyond or lone))
    return ComparedSides(
        verdict=verdict,
        effect=effect,
        low=low,
        high=high,
        separated=beyond or not lone,
        student=student,
    )


def _verdict(
    seen: Difference,
    levels: tuple[Sequence[ImageLevel], Sequence[ImageLevel]],
    student: ministat.Comparison,
    noise: Noise,
    terms: VerdictTerms,
    *,
    two: bool,
) -> SidesVerdict:
    """By the model; `two` images of each side are wanted."""
    relevant = change_in_logs(terms.min_effect)
    middle, low, high = (seen.quantile(share) for share in _shares(terms.confidence))
    enough = not two or min(map(len, levels)) >= constants.IMAGES_THAT_SHOW
    disputed = is_disputed(seen, levels)
    layout = terms.layout and has_layout(noise)
    again = layout and terms.images
    sure = sure_at(min(map(len, levels))) if again else constants.VERDICT_SURE
    if enough and not disputed:
        if abs(middle) >= relevant and _sure(seen) >= sure:
            return Better() if (middle > 0) == terms.higher_is_better else Worse()
        if -relevant < low and high < relevant:
            return NoDifference(least=terms.min_effect)
    needs = more_needed(
        seen,
        (tuple(levels[0]), tuple(levels[1])),
        noise,
        min_effect=terms.min_effect,
        confidence=terms.confidence,
        images=again,
    )
    if not terms.boots:
        needs = None
    if (disputed or not enough) and again:
        needs = _with_an_image(needs, noise, disputed=disputed)
    if layout and _is_different(student, terms) and low <= 0 <= high:
        return WithinLayoutLuck(needs=needs)
    return Undecided(needs=needs)


def is_disputed(
    seen: Difference, levels: tuple[Sequence[ImageLevel], Sequence[ImageLevel]]
) -> bool:
    """Whether as many images of a side deny the difference as show it.

    An image that says neither counts for a side here, unlike in core.search.proof: how sure the
    model is of the sign, luck with layout included, is asked besides.
    """
    return any(
        image_votes(
            ((one.level, math.sqrt(one.variance)) for one in side), level=level, other=other
        ).contradicted
        for side, level, other in zip(
            levels, (seen.base, seen.new), (seen.new, seen.base), strict=True
        )
    )


def _with_an_image(needs: MoreOfEach | None, noise: Noise, *, disputed: bool) -> MoreOfEach:
    boots = max(boots_of_image(noise), constants.BOOTS_THAT_DENY if disputed else 0)
    if needs is None or not needs.images:
        return MoreOfEach(boots=boots, images=1)
    return MoreOfEach(boots=max(needs.boots, boots), images=needs.images)


def _sure(seen: Difference) -> float:
    """How probable the likelier sign is."""
    below = seen.probability_below(0.0)
    return max(below, 1 - below)


def _by_student(student: ministat.Comparison, terms: VerdictTerms, *, sure: bool) -> ComparedSides:
    """What Student's t says; `sure`: as much as is assumed of layout does not explain it."""
    effect, error = student.difference_percent / 100, abs(student.error_percent) / 100
    verdict: SidesVerdict
    if _is_different(student, terms):
        verdict = Better() if (effect > 0) == terms.higher_is_better else Worse()
    elif abs(effect) + error < terms.min_effect:
        verdict = NoDifference(least=terms.min_effect)
    else:
        verdict = Undecided(
            needs=_boots_for_student(student, terms) if terms.boots else None,
            student=_sign(student, terms),
            least=terms.min_effect,
        )
    known = math.isfinite(effect)
    return ComparedSides(
        verdict=verdict,
        effect=effect if known else None,
        low=effect - error if known else None,
        high=effect + error if known else None,
        separated=known and sure and abs(effect) >= constants.BEYOND_LAYOUT,
        student=student,
    )


def _sign(
    student: ministat.Comparison, terms: VerdictTerms
) -> Literal["better", "worse", "no sign"]:
    if not student.significant:
        return "no sign"
    return "better" if (student.difference > 0) == terms.higher_is_better else "worse"


def _boots_for_student(student: ministat.Comparison, terms: VerdictTerms) -> MoreOfEach | None:
    """So many that his interval, as it shrinks with the root of the boots, would tell."""
    effect, error = abs(student.difference_percent) / 100, abs(student.error_percent) / 100
    if not math.isfinite(effect):
        return None
    target = told_apart_at(effect, terms.min_effect)
    boots = min(student.reference.n, student.other.n)
    return MoreOfEach(boots=more_boots(boots, error / target), images=0)


def _is_different(student: ministat.Comparison, terms: VerdictTerms) -> bool:
    """Whether Student's t is significant, and the change one that somebody wants to hear of."""
    old, new = student.reference.mean, student.other.mean
    if not student.significant or old <= 0 or new <= 0:
        return False
    return abs(math.log(new / old)) >= change_in_logs(terms.min_effect)


def _too_few(
    sides: Sequence[Sequence[ImageLevel]], student: ministat.Comparison | None
) -> ComparedSides:
    fewer = min(sum(image.boots for image in side) for side in sides)
    boots = max(ministat.MIN_VALUES - fewer, 1)
    return ComparedSides(
        verdict=Undecided(needs=MoreOfEach(boots=boots, images=0)),
        effect=None,
        low=None,
        high=None,
        separated=False,
        student=student,
    )


def _student(base: SideBoots, new: SideBoots, confidence: float) -> ministat.Comparison | None:
    old, other = (list(chain.from_iterable(side.values())) for side in (base, new))
    if min(len(old), len(other)) < ministat.MIN_VALUES:
        return None
    return ministat.compare(old, other, confidence=confidence)


def _shares(confidence: float) -> tuple[float, float, float]:
    """The middle, and the ends of the interval, as shares."""
    outside = (1 - confidence / 100) / 2
    return 0.5, outside, 1 - outside
