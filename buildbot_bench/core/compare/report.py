"""The composition of a comparison's report from the boots of its variants."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean

from buildbot_bench.core import ministat, ministat_text
from buildbot_bench.core.compare.factors import factors
from buildbot_bench.core.compare.model import (
    BeyondLuck,
    ComparedVariant,
    ComparisonReport,
    MeasuredImage,
    SeriesReport,
    SeriesValues,
    VariantChange,
    Verdict,
)
from buildbot_bench.core.compare.schedule import delays, passes, recorded_notes
from buildbot_bench.core.compare.text import outcome, verdict_text
from buildbot_bench.core.compare.verdict import ComparisonTerms, compared
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.ministat import holm
from buildbot_bench.core.model.learn import rounding_words
from buildbot_bench.core.report.model import Contrast, Side
from buildbot_bench.core.report.side_levels import disagreement
from buildbot_bench.core.report.steps import contrast
from buildbot_bench.core.report.words import count


def compose_comparison(
    all_series: Iterable[SeriesValues],
    *,
    comparison_id: int,
    variants: Sequence[ComparedVariant],
    iterations: int,
    confidence: float,
    min_effect: float,
    images: int = 1,
    detail: str = "",
    farm: str = "",
    url: str = "",
    left_out: Mapping[str, str] | None = None,
) -> ComparisonReport:
    """The report of what was measured, the base first; with `left_out` the values of a suite."""
    shown = tuple(
        ComparedVariant(label=one_line(variant.label), variant=one_line(variant.variant))
        for variant in variants
    )
    labels = [variant.label for variant in shown]
    measured = list(all_series)
    values = 1 if left_out is None else max(len(measured), 1)
    wanted = ComparisonTerms(min_effect=min_effect, confidence=confidence, values=values)
    series = [_series(one, labels, wanted) for one in measured]
    if left_out is not None:  # a block for each would be a thousand
        series = [replace(one, ministat=(), factors=None) for one in series]
    items = {one.item for one in measured}
    item = items.pop() if len(items) == 1 else ItemUnderTest.KERNEL
    return ComparisonReport(
        comparison_id=comparison_id,
        variants=shown,
        iterations=iterations,
        images=images,
        confidence=confidence,
        min_effect=min_effect,
        order=_order(labels, item),
        drift=_drift(len(labels), iterations, item),
        tests=len(_tests(series)),
        series=_corrected(series),
        detail=one_line(detail, columns=600),
        farm=one_line(farm),
        url=url,
        item=item,
        left_out=left_out,
    )


def outcome_of(
    all_series: Sequence[SeriesValues], labels: Sequence[str], confidence: float, min_effect: float
) -> str:
    """The outcome of what was measured of some variants, the base first."""
    report = compose_comparison(
        all_series,
        comparison_id=0,
        variants=[ComparedVariant(label=label, variant=label) for label in labels],
        iterations=0,
        confidence=confidence,
        min_effect=min_effect,
    )
    return outcome(report)


def _order(labels: Sequence[str], item: ItemUnderTest) -> str:
    rows = passes(len(labels))
    there = ", ".join(labels[variant] for variant in rows[0])
    begun = " Each round starts with another variant." if len(rows) > 1 else ""
    boots = f"{item.iteration.capitalize()}s"
    return f"{boots} alternate: {there}, then in reverse order, and so on.{begun}"


def _drift(variants: int, iterations: int, item: ItemUnderTest) -> str:
    left = (variants - 1) / iterations if iterations % 2 else 0
    but = (
        f" Each has an odd number of {item.iteration}s: a drift of {left:.2g} of them may remain."
        if left
        else ""
    )
    return f"A steady drift of the {item.place} affects all variants equally.{but}"


def _series(values: SeriesValues, labels: Sequence[str], wanted: ComparisonTerms) -> SeriesReport:
    what = f"{values.workload} ({one_line(values.metric.unit)})"
    samples = tuple(
        Side(label=f"{label} {what}", values=own)
        for label, own in zip(labels, values.values, strict=True)
    )
    base, *others = samples
    confidence = wanted.confidence
    found = [contrast(base, other, metric=values.metric, confidence=confidence) for other in others]
    said = [compared(values, place, wanted) for place in range(1, len(samples))]
    return SeriesReport(
        testbed=values.testbed,
        workload=values.workload,
        metric=values.metric,
        epoch=one_line(values.epoch),
        samples=samples,
        images=tuple(
            tuple(
                MeasuredImage(image=image, boots=len(own), level=fmean(own))
                for image, own in values.by_image(place).items()
            )
            for place in range(len(samples))
        ),
        changes=tuple(
            VariantChange(
                label=label,
                comparison=one.comparison,
                verdict=Verdict(judged.verdict.kind),
                beyond_luck=BeyondLuck(
                    **shared(BeyondLuck, judged), said=verdict_text(judged, values.item)
                ),
                p_corrected=judged.chance,
                flame_graphs=values.flame_graphs.get(place),
            )
            for place, (label, one, judged) in enumerate(
                zip(labels[1:], found, said, strict=True), start=1
            )
        ),
        ministat=tuple(_blocks(samples, confidence)),
        notes=(*_notes(values, labels, found), *_clocks(values, labels, wanted.min_effect)),
        facts={one_line(name): one_line(str(value)) for name, value in values.facts.items()},
        factors=factors(values, labels, confidence=confidence),
    )


def _blocks(samples: Sequence[Side], confidence: float) -> Iterator[str]:
    """The text of ministat of all that have enough values for it, so many at a time as it takes."""
    base, *others = ((side.label, side.values) for side in samples)
    enough = [other for other in others if len(other[1]) >= ministat.MIN_VALUES]
    if len(base[1]) < ministat.MIN_VALUES:
        return
    room = ministat_text.MAX_DATASETS - 1
    for first in range(0, len(enough), room):
        block = [base, *enough[first : first + room]]
        yield ministat_text.render(block, confidence=confidence).rstrip("\n")


def _notes(values: SeriesValues, labels: Sequence[str], found: Sequence[Contrast]) -> Iterator[str]:
    """What is to be doubted of all, once, and then what of one variant."""
    if values.note:
        yield values.note
    yield from _single(values, labels)
    yield from recorded_notes(values.recorded, labels)
    tested = {
        label: one
        for label, one in zip(labels[1:], found, strict=True)
        if one.comparison is not None
    }
    untested = [note for one in found if one.comparison is None for note in one.notes]
    yield from dict.fromkeys(untested)
    common = [
        note
        for note in dict.fromkeys(note for one in tested.values() for note in one.notes)
        if all(note in one.notes for one in tested.values())
    ]
    yield from (note for note in common if note not in untested)
    for label, one in tested.items():
        yield from (f"{label}: {note}" for note in one.notes if note not in common)
    for label, late in zip(labels, delays(values.order, len(labels)), strict=True):
        if abs(late) > len(labels):  # a whole pass: more than boots that were made up for explain
            when = "later" if late > 0 else "earlier"
            boots = count(round(abs(late)), values.item.iteration)
            yield (
                f"on average, {label} was {values.item.iterated} {boots} {when} than {labels[0]}: "
                f"a drift of the {values.item.place} may remain in the difference"
            )


def _clocks(values: SeriesValues, labels: Sequence[str], min_effect: float) -> Iterator[str]:
    """Where wall and processor time disagree on a change of a variant, and rounding."""
    for label, own in zip(labels[1:], values.times[1:], strict=bool(values.times)):
        if said := disagreement(values.times[0], own, min_effect):
            yield f"{label}: {said}"
    seen = chain.from_iterable(values.values)
    if said := rounding_words(values.metric, seen, values.resolution, min_effect):
        yield said


def _single(values: SeriesValues, labels: Sequence[str]) -> Iterator[str]:
    reasons = dict.fromkeys(why for why in values.single if why)
    for why in reasons:
        of = [label for label, own in zip(labels, values.single, strict=True) if own == why]
        whose = "each variant" if len(of) == len(labels) else ", ".join(of)
        yield f"no further image of {whose}: {one_line(why, columns=200)}"


def _tests(all_series: Sequence[SeriesReport]) -> dict[tuple[int, int], float]:
    """The p of each test of the whole table, by the places of its series and variant."""
    return {
        (place, number): change.p_corrected
        for place, series in enumerate(all_series)
        for number, change in enumerate(series.changes)
        if change.p_corrected is not None
    }


def _corrected(all_series: Sequence[SeriesReport]) -> tuple[SeriesReport, ...]:
    """With the p values corrected for how many there are in the whole table."""
    tests = _tests(all_series)
    corrected = dict(zip(tests, holm(tuple(tests.values())), strict=True))
    return tuple(
        replace(
            series,
            changes=tuple(
                replace(change, p_corrected=corrected.get((place, number)))
                for number, change in enumerate(series.changes)
            ),
        )
        for place, series in enumerate(all_series)
    )
