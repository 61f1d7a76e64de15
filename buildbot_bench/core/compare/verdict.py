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
from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.contrast import (
    Difference,
    Levels,
    MoreOfEach,
    SideBoots,
    difference,
    has_layout,
    image_levels,
    is_beyond_layout,
    more_boots,
    more_needed,
    sure_at,
    told_apart_at,
)
from buildbot_bench.core.json_model import Share
from buildbot_bench.core.model import Noise, constants, is_build_noise_learnt, learn
from buildbot_bench.core.model.thresholds import change_in_logs
from buildbot_bench.core.sample import NoiseClass


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
    effect, low, high = seen.interval(terms.confidence)
    beyond = not layout or is_beyond_layout(seen.quantile(0.5))
    fewest = 1 if beyond or lone else constants.IMAGES_THAT_SHOW
    return ComparedSides(
        verdict=_verdict(seen, student, told, terms, fewest),
        effect=effect,
        low=low,
        high=high,
        separated=beyond or not lone,
        student=student,
    )


def _verdict(
    seen: Difference, student: ministat.Comparison, noise: Noise, terms: VerdictTerms, fewest: int
) -> SidesVerdict:
    """By the model; `fewest` images of each side are wanted."""
    effect, low, high = seen.interval(terms.confidence)
    relevant = change_in_logs(terms.min_effect)
    layout = terms.layout and has_layout(noise)
    again = layout and terms.images
    if seen.fewest_images >= fewest and not seen.contradicted:
        sure = sure_at(seen.fewest_images) if again else constants.VERDICT_SURE
        if abs(math.log1p(effect)) >= relevant and _sure(seen) >= sure:
            return Better() if (effect > 0) == terms.higher_is_better else Worse()
        if -relevant < math.log1p(low) and math.log1p(high) < relevant:
            return NoDifference(least=terms.min_effect)
    needs = more_needed(
        seen,
        noise,
        min_effect=terms.min_effect,
        sure_of_less=0.5 + terms.confidence / 200,
        images=again,
        least_images=fewest,
    )
    if not terms.boots:
        needs = None
    if layout and _is_different(student, terms) and low <= 0 <= high:
        return WithinLayoutLuck(needs=needs)
    return Undecided(needs=needs)


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


def _too_few(sides: Sequence[Levels], student: ministat.Comparison | None) -> ComparedSides:
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
    return ministat.compare_if_enough(old, other, confidence=confidence)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonTerms:
    """What a comparison asks: `min_effect` a fraction, `confidence` in percent."""

    min_effect: float
    confidence: float


def compared(values: SeriesValues, place: int, wanted: ComparisonTerms) -> ComparedSides:
    """What is said of one new variant beside the base: the only place where that is decided.

    Variants that differ in tunables alone boot the same images: those that both booted are held
    against each other, and no layout is between them. Raises UsageError as `compare_sides` does.
    """
    base, new = values.by_image(0), values.by_image(place)
    kernels = values.kernels or range(len(values.values))
    shared = kernels[place] == kernels[0]
    if shared:
        both = base.keys() & new.keys()
        base, new = ({k: v for k, v in own.items() if k in both} for own in (base, new))
    terms = VerdictTerms(
        min_effect=wanted.min_effect,
        confidence=wanted.confidence,
        higher_is_better=values.metric.higher_is_better,
        layout=not shared and values.metric.noise is not NoiseClass.EXACT,
        images=bool(values.single) and not (values.single[0] or values.single[place]),
        boots=not values.recorded,
    )
    return compare_sides(base, new, None if values.recorded else values.noise, terms)
