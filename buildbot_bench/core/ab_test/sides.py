"""The verdict on one variant against the base, for one series of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from buildbot_bench.core.ab_test.model import SeriesValues
from buildbot_bench.core.ab_test.verdict import ComparedSides, VerdictTerms, compare_sides
from buildbot_bench.core.sample import NoiseClass


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
