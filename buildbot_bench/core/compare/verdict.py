"""The verdict whether one side of a comparison is better or worse than the other beyond luck.

A side is *worse* or *better* when three things hold: the posterior (`difference`) is sure of the
sign at this look and for so many variants (`_chance`), the estimate is a change (min_effect), and,
below BEYOND_LAYOUT, two images of each side show it and no majority of a side's images denies it.
There is *no difference of N % or more* when the interval lies within ±min_effect. A difference
that only Student's t shows is *within the luck of layout*; all else is *undecided*. Student's t
decides nothing.

Where a side can have one image alone and no history gives the build noise, nothing below
BEYOND_LAYOUT can be decided.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np

from buildbot_bench.core import ministat
from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.contrast.denial import is_beyond_layout
from buildbot_bench.core.contrast.difference import (
    Difference,
    Levels,
    SideBoots,
    difference,
    image_levels,
)
from buildbot_bench.core.contrast.needed import MoreOfEach, has_layout, more_needed
from buildbot_bench.core.json_model import Share
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.learn import is_build_noise_learnt, learn, resolution, with_rounding
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.model.thresholds import change_in_logs
from buildbot_bench.core.sample import NoiseClass

ERROR_OF_BOOTS = 0.01
"""Of the verdicts on alike variants that boots alone decide, all looks together.

A goal, not an estimate; by normal quantiles half of it needs a sixth more boots.
"""

SURE_FROM_BOOTS = 40
"""Boots of each side at the last look, eight times the usual five; with twice as many a look at the
same boots is as strict as with half of ERROR_OF_BOOTS."""


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

    `student` is set where one image of each cannot tell: which sign Student's t has.
    """

    needs: MoreOfEach | None
    student: Literal["better", "worse", "no sign"] | None = None
    kind: Literal["undecided"] = "undecided"


SidesVerdict = Worse | Better | NoDifference | WithinLayoutLuck | Undecided


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictTerms:
    """What is asked: `min_effect` a fraction, `confidence` of intervals and of Student's t in %.

    Without `layout` both sides boot the same images. `images`: further ones can be made; `boots`:
    further boots can, which of a recording is not so. `tests` is the number of new variants, times
    that of the values of a run that are compared.
    `resolution` is the smallest difference of values, in their unit; 0 where it is not known.
    """

    min_effect: float
    confidence: float = 95.0
    higher_is_better: bool = True
    layout: bool = True
    images: bool = True
    boots: bool = True
    tests: int = 1
    resolution: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSides:
    """The verdict, with the effect as a fraction of the base and its interval.

    These are the model's. `separated`: luck with the layout of a single image does not explain it.
    `student` is None where a side has too few values. `chance` is the model's p of no difference,
    which holds at every look; None where one image of each cannot tell.
    """

    verdict: SidesVerdict
    effect: float | None
    low: float | None
    high: float | None
    separated: bool
    student: ministat.Comparison | None
    chance: float | None = None


def compare_sides(
    base: SideBoots, new: SideBoots, noise: Noise | None, terms: VerdictTerms
) -> ComparedSides:
    """The verdict on the boots of two sides, by image; `noise` is learnt of the series, or None.

    Values that are not positive are passed over by the model.
    """
    told = noise or _unlearnt(base, new, terms.resolution)
    student = _student(base, new, terms.confidence)
    layout = terms.layout and has_layout(told)
    levels = (image_levels(base, told.sigma_run), image_levels(new, told.sigma_run))
    if student is None or not all(levels):
        return _too_few(levels, student)
    lone = layout and not terms.images and min(map(len, levels)) < constants.IMAGES_THAT_SHOW
    seen = difference(base, new, told, layout=layout)
    effect, low, high = seen.interval(terms.confidence)
    beyond = not layout or is_beyond_layout(seen.quantile(0.5))
    fewest = 1 if beyond or lone else constants.IMAGES_THAT_SHOW
    chance = _chance(seen, terms, layout=layout)
    verdict = _verdict(seen, student, told, terms, (fewest, chance))
    blind = lone and (noise is None or not is_build_noise_learnt(noise))
    hidden = blind and not (beyond and isinstance(verdict, Better | Worse))
    if hidden:
        verdict = Undecided(needs=None, student=_sign(student, terms))
    return ComparedSides(
        verdict=verdict,
        effect=effect,
        low=low,
        high=high,
        separated=not hidden and (beyond or not lone),
        student=student,
        chance=None if hidden else chance,
    )


def _unlearnt(base: SideBoots, new: SideBoots, step: float) -> Noise:
    """The noise where no history tells it: that of boots is what these boots show.

    What is assumed of boots counts as one of them, as programs and testbeds differ a hundredfold.
    """
    known = replace(learn([]), df_run=1.0)
    images = [np.log([v for v in own if v > 0]) for side in (base, new) for own in side.values()]
    squares = known.sigma_run**2 + sum(float(((x - x.mean()) ** 2).sum()) for x in images if x.size)
    df = 1 + sum(max(x.size - 1, 0) for x in images)
    share = resolution(chain.from_iterable(chain(base.values(), new.values())), step)
    return with_rounding(replace(known, sigma_run=math.sqrt(squares / df)), share)


def _chance(seen: Difference, terms: VerdictTerms, *, layout: bool) -> float:
    """Return the posterior's two-sided p, which holds at every look, of one of `terms.tests`.

    The numbers of images, or of boots of the same images, at least double from one look to the
    next. A look at a share of the last one's number has that share of the error (`needed`), so
    that all looks together err at most twice as often as the last one.
    """
    doubt = seen.doubt()
    if layout and terms.images:
        looks = 2 * max(1.0, constants.SURE_FROM / seen.fewest_images)
    elif not layout and terms.boots:
        fewest = min(sum(image.boots for image in side) for side in seen.sides)
        looks = 2 * max(1.0, SURE_FROM_BOOTS / fewest)
    else:
        looks = 1.0
    return min(1.0, doubt * looks)


def _verdict(
    seen: Difference,
    student: ministat.Comparison,
    noise: Noise,
    terms: VerdictTerms,
    wanted: tuple[int, float],
) -> SidesVerdict:
    """By the model; `wanted` are the fewest images of each side, and the `_chance`."""
    fewest, chance = wanted
    effect, low, high = seen.interval(terms.confidence)
    relevant = change_in_logs(terms.min_effect)
    layout = terms.layout and has_layout(noise)
    again = layout and terms.images
    if seen.fewest_images >= fewest and not seen.contradicted:
        # Of the last look 2 (1 - sure), of all looks together at most twice that.
        last = 4 * (1 - constants.LAST_LOOK_SURE) if again else ERROR_OF_BOOTS
        if abs(math.log1p(effect)) >= relevant and chance * terms.tests <= last:
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


def _sign(
    student: ministat.Comparison, terms: VerdictTerms
) -> Literal["better", "worse", "no sign"]:
    if not student.significant:
        return "no sign"
    return "better" if (student.difference > 0) == terms.higher_is_better else "worse"


def _is_different(student: ministat.Comparison, terms: VerdictTerms) -> bool:
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
    """What a comparison asks: `min_effect` a fraction, `confidence` in percent.

    `values` is how many values of a run are compared.
    """

    min_effect: float
    confidence: float
    values: int = 1


def compared(values: SeriesValues, place: int, wanted: ComparisonTerms) -> ComparedSides:
    """What is said of one new variant beside the base: the only place where that is decided.

    Variants that differ in tunables alone boot the same images: those that both booted are held
    against each other, and no layout is between them.
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
        tests=max(len(values.values) - 1, 1) * wanted.values,
        resolution=values.resolution,
    )
    return compare_sides(base, new, None if values.recorded else values.noise, terms)
