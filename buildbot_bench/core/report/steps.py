"""The steps of a report, and a commit against its predecessor: Student's t of two levels."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from buildbot_bench.core import ministat, ministat_text
from buildbot_bench.core.figures import stated_percent
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.model.thresholds import values_that_prove
from buildbot_bench.core.report.model import Contrast, ReportKind, Setting, Side, StepReport
from buildbot_bench.core.report.side_levels import (
    MeasuredSide,
    MeasuredValues,
    as_stated,
    change_between,
    measure_side,
    measured_values,
    pair_of,
)
from buildbot_bench.core.report.words import count
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.sample import Metric, NoiseClass, Sample
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.search.model import Stretches

BLIND_SPOTS = (
    "this is a count, not a time. It does not show cache misses, branch misses, locks, other "
    "processors, devices or their drivers. Confirm it on hardware."
)


def contrast(old: Side, new: Side, *, metric: Metric, confidence: float) -> Contrast:
    """Hold the new side against the old one by Student's t, at a confidence in percent.

    Of a counted metric few equal values leave nothing to doubt; what it cannot see is noted.
    """
    exact = (BLIND_SPOTS,) if metric.noise is NoiseClass.EXACT else ()
    short = [side for side in (old, new) if len(side.values) < ministat.MIN_VALUES]
    if short:
        notes = tuple(
            f"{side.label} has {count(len(side.values), 'value')}. "
            f"Student's t needs {ministat.MIN_VALUES}."
            for side in short
        )
        return Contrast(old=old, new=new, comparison=None, ministat="", notes=exact or notes)
    found = ministat.compare(old.values, new.values, confidence=confidence)
    fitting = (
        warning
        for warning in found.warnings
        if metric.is_rate_of_packets or not warning.endswith(ministat.LINE_RATE)
    )
    comparison = replace(found, warnings=tuple(fitting))
    block = ministat_text.render(
        [(old.label, old.values), (new.label, new.values)], confidence=confidence
    )
    alike = all(min(side.values) == max(side.values) for side in (old, new))
    return Contrast(
        old=old,
        new=new,
        comparison=comparison,
        ministat=block.rstrip("\n"),
        notes=exact + (() if exact and alike else comparison.warnings),
    )


def is_proved(held: Contrast, effect: float, *, counted: bool) -> bool:
    """Whether both sides have the values that Student's t needs, and it shows that effect.

    Where values are counted, so that fewer are enough, all new ones lie beyond all old ones.
    """
    found = held.comparison
    if found is not None:
        return found.significant and (found.difference < 0) == (effect < 0)
    old, new = held.old.values, held.new.values
    if not counted or min(len(old), len(new)) < values_that_prove(counted=True):
        return False
    return min(new) > max(old) if effect > 0 else max(new) < min(old)


def kind_of(answer: Answer, *, error: float) -> ReportKind:
    """What an answer comes to when it may be wrong with probability `error`.

    Not reproduced is a statement about both ends: it takes both to have been measured, so a part
    that is left open makes the answer inconclusive.
    """
    if any(step.is_sure(error) for step in answer.steps):
        return ReportKind.CULPRIT
    if answer.slopes:
        return ReportKind.SLOPE
    proved_equal = not (answer.reproduced or answer.steps or answer.unresolved)
    return ReportKind.NOT_REPRODUCED if proved_equal else ReportKind.INCONCLUSIVE


def describe_steps(
    between: RevisionRange,
    answer: Answer,
    values: MeasuredValues,
    no_ops: Collection[int],
    setting: Setting,
    *,
    one_layout: str = "",
    stated: Iterable[Step] = (),
) -> Iterator[StepReport]:
    """The answer's steps, oldest first, each with the values of the levels on its two sides.

    With `one_layout`, as `Context` has it, no step of what varies is separated from layout. What is
    `stated` of a step stands: no later boot moves it.
    """
    counted = setting.metric.noise is NoiseClass.EXACT
    known = {(one.old, one.new): one for one in stated}
    for step in sorted(answer.steps, key=lambda step: step.new):
        sure = step.is_sure(setting.error)
        old, new = _sides(between, answer, values, step, sure=sure)
        change = change_between(old, new, step, setting.item)
        if then := known.get((step.old, step.new)):
            change = as_stated(then, change, setting.item)
        held = contrast(old.side, new.side, metric=setting.metric, confidence=setting.confidence)
        yield StepReport(
            old=between.revisions[step.old],
            new=between.revisions[step.new],
            suspects=_suspects(between, step, no_ops),
            believed=len(positions_in(step.believed)),
            untried=len(positions_in(step.untried)),
            race=step.race,
            **shared(StepReport, change),
            probability=stated_percent(step.probability) / 100,
            sure=sure,
            proved=step.proved
            and (step.race is not None or is_proved(held, change.effect, counted=counted)),
            regression=(step.effect < 0) == setting.metric.higher_is_better,
            contrast=replace(held, notes=(*held.notes, *(change.notes if held.ministat else ()))),
            separated=step.separated and (counted or not one_layout),
        )


def stated_answer(
    between: RevisionRange,
    answer: Answer,
    samples: Iterable[Sample],
    *,
    metric: Metric,
    error: float,
    no_ops: Collection[int],
) -> Answer:
    """The answer with the figures that a report gives of its steps."""
    values = measured_values(samples, metric, same=no_ops)
    found = []
    for step in answer.steps:
        sides = _sides(between, answer, values, step, sure=step.is_sure(error))
        change = change_between(*sides, step)
        found.append(
            replace(
                step,
                effect=change.effect,
                low=change.low,
                high=change.high,
                levels=pair_of(change.levels),
            )
        )
    return replace(answer, steps=tuple(found))


def _sides(
    between: RevisionRange, answer: Answer, values: MeasuredValues, step: Step, *, sure: bool
) -> tuple[MeasuredSide, MeasuredSide]:
    """What was measured of the levels on both sides of a step; of a suspected one, at its ends."""
    old, new = [step.old], [step.new]
    if sure:
        old, new = levels(answer, step.old, step.new, between.n)
    return measure_side(values, between, old), measure_side(values, between, new)


def with_expected(
    steps: Iterable[StepReport], between: RevisionRange, expected: Mapping[int, str]
) -> tuple[StepReport, ...]:
    """The steps, with who expected those at some positions, as far as they are sure."""
    said = {between.revisions[at].sha: by for at, by in expected.items() if 0 < at <= between.n}
    return tuple(
        replace(step, expected_by=one_line(said[step.new.sha]))
        if step.sure and step.new.sha in said
        else step
        for step in steps
    )


def find_headline(steps: Sequence[StepReport]) -> StepReport | None:
    """The largest sure regression, else improvement; one that somebody expected comes last."""
    sure = [step for step in steps if step.sure]
    return max(
        sure,
        key=lambda step: (not step.expected_by, step.regression, abs(step.effect)),
        default=None,
    )


def contrast_ends(between: RevisionRange, values: MeasuredValues, setting: Setting) -> Contrast:
    """The two ends of the range, held against each other."""
    old, new = (measure_side(values, between, [position]).side for position in (0, between.n))
    return contrast(old, new, metric=setting.metric, confidence=setting.confidence)


def levels(answer: Answer, old: int, new: int, n: int) -> tuple[list[int], list[int]]:
    """The positions of the two levels next to a step, nearest first, up to where others may lie."""
    bounds = [(other.old, other.new) for other in answer.steps] + list(answer.unresolved)
    start = max((end for _, end in bounds if end <= old), default=0)
    stop = min((begin for begin, _ in bounds if begin >= new), default=n)
    return list(range(old, start - 1, -1)), list(range(new, stop + 1))


def positions_in(stretches: Stretches) -> list[int]:
    """The positions of all stretches."""
    return [position for first, last in stretches for position in range(first, last + 1)]


def _suspects(between: RevisionRange, step: Step, no_ops: Collection[int]) -> tuple[Revision, ...]:
    """The commits in (old, new]; a no-op change cannot have made the step."""
    positions = range(step.old + 1, step.new + 1)
    effective = [position for position in positions if position not in no_ops]
    return tuple(between.revisions[position] for position in effective or positions)


MOST_BOOTS = 100
"""So many boots of a side are shown, the newest: behind so many degrees of freedom ministat's
quantiles do not change any more."""

_LABEL_COLUMNS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitContrast:
    """A commit, measured on `new_images` images, against its predecessor, measured on `old_images`.

    `difference` is a fraction of the old mean, `low` and `high` its interval by Student's t; None
    where there are too few values, or the old mean is 0.
    """

    contrast: Contrast
    metric: Metric
    epoch: str
    old_images: int
    new_images: int
    difference: float | None
    low: float | None
    high: float | None


def newest_measured(samples: Iterable[Sample]) -> Sample | None:
    """The sample with the newest boot that gave a value; None without any."""
    measured = [sample for sample in samples if sample.values]
    return max(
        measured,
        key=lambda one: max(i.at_s for i in one.iterations if i.value is not None),
        default=None,
    )


def against_predecessor(
    old: Sequence[Sample], new: Sequence[Sample], *, confidence: float
) -> CommitContrast | None:
    """Hold all images of a revision against those of its predecessor, the newest boots of each.

    Only in metric and epoch of its last measurement; None where a side has no value in these.
    """
    last = newest_measured(new)
    if last is None:
        return None
    sides = [
        [one for one in of if (one.metric, one.epoch) == (last.metric, last.epoch) and one.values]
        for of in (old, new)
    ]
    before, after = sides
    if not before:
        return None
    found = contrast(_side(before), _side(after), metric=last.metric, confidence=confidence)
    difference, low, high = _stated(found)
    return CommitContrast(
        contrast=found,
        metric=last.metric,
        epoch=last.epoch,
        old_images=len({one.image for one in before}),
        new_images=len({one.image for one in after}),
        difference=difference,
        low=low,
        high=high,
    )


def _side(samples: Sequence[Sample]) -> Side:
    boots = [
        (iteration.at_s, iteration.value)
        for sample in samples
        for iteration in sample.iterations
        if iteration.value is not None
    ]
    newest = sorted(boots, key=lambda boot: boot[0])[-MOST_BOOTS:]
    label = one_line(samples[0].label, columns=_LABEL_COLUMNS)
    return Side(label=label, values=tuple(value for _, value in newest))


def _stated(found: Contrast) -> tuple[float | None, float | None, float | None]:
    """The difference as a fraction of the old mean, and its interval by Student's t."""
    if found.comparison is not None:
        return found.comparison.relative or (None, None, None)
    old, new = fmean(found.old.values), fmean(found.new.values)
    return (new / old - 1 if old else None), None, None
