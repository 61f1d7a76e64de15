"""Makes a reader's steps of a search's: commits for positions, and Student's t of both levels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from buildbot_bench.core import ministat, ministat_text
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.model import Contrast, ReportKind, Setting, Side, StepReport
from buildbot_bench.core.report.side_levels import MeasuredValues, change_between, measure_side
from buildbot_bench.core.report.words import count
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.sample import Metric, NoiseClass
from buildbot_bench.core.search import Answer, Step

_ROUNDING = 1e-9  # 1 - 0.01 and 0.99 differ in the last bit
BLIND_SPOTS = (
    "counted, not timed. What instructions cost in time is not seen: misses of caches and "
    "branches, locks and other processors, devices and their drivers; hardware has the last word"
)


def contrast(old: Side, new: Side, *, metric: Metric, confidence: float) -> Contrast:
    """Hold the new side against the old one by Student's t, at a confidence in percent.

    A metric that is counted has nothing to doubt in few values that are all the same, and something
    to say of what it cannot see. Raises UsageError for a confidence that ministat has no table for.
    """
    exact = (BLIND_SPOTS,) if metric.noise is NoiseClass.EXACT else ()
    short = [side for side in (old, new) if len(side.values) < ministat.MIN_VALUES]
    if short:
        notes = tuple(
            f"{side.label} has {count(len(side.values), 'value')}: "
            f"Student's t needs {ministat.MIN_VALUES}"
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
    return Contrast(
        old=old,
        new=new,
        comparison=comparison,
        ministat=block.rstrip("\n"),
        notes=exact + (() if exact and _all_alike(old, new) else comparison.warnings),
    )


def _all_alike(*sides: Side) -> bool:
    return all(min(side.values) == max(side.values) for side in sides)


def kind_of(answer: Answer, *, error: float) -> ReportKind:
    """What an answer comes to when it may be wrong with probability `error`.

    Not reproduced is a statement about both ends: it takes both to have been measured, so a part
    that is left open makes the answer inconclusive.
    """
    if any(_is_sure(step, error) for step in answer.steps):
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
) -> Iterator[StepReport]:
    """The answer's steps, oldest first, each with the values of the levels on its two sides.

    With `one_layout`, as `Context` has it, no step of what varies is separated from layout.
    """
    counted = setting.metric.noise is NoiseClass.EXACT
    for step in sorted(answer.steps, key=lambda step: step.new):
        sure = _is_sure(step, setting.error)
        before, after = (
            levels(answer, step.old, step.new, between.n) if sure else ([step.old], [step.new])
        )
        old, new = (measure_side(values, between, positions) for positions in (before, after))
        change = change_between(old, new, step, setting.item)
        held = contrast(old.side, new.side, metric=setting.metric, confidence=setting.confidence)
        yield StepReport(
            old=between.revisions[step.old],
            new=between.revisions[step.new],
            suspects=_suspects(between, step, no_ops),
            effect=change.effect,
            low=change.low,
            high=change.high,
            levels=change.levels,
            probability=step.probability,
            sure=sure,
            regression=(step.effect < 0) == setting.metric.higher_is_better,
            contrast=replace(held, notes=(*held.notes, *(change.notes if held.ministat else ()))),
            separated=step.separated and (counted or not one_layout),
        )


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
    """The largest sure regression; without one, the largest sure improvement.

    A step that somebody expected comes last: it is no culprit of another change.
    """
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


def _is_sure(step: Step, error: float) -> bool:
    return step.separated and step.probability >= 1 - error - _ROUNDING


def levels(answer: Answer, old: int, new: int, n: int) -> tuple[list[int], list[int]]:
    """The positions of the two levels next to a step in (old, new], the nearest first.

    A level ends where another step lies or may lie.
    """
    bounds = [(other.old, other.new) for other in answer.steps] + list(answer.unresolved)
    start = max((end for _, end in bounds if end <= old), default=0)
    stop = min((begin for begin, _ in bounds if begin >= new), default=n)
    return list(range(old, start - 1, -1)), list(range(new, stop + 1))


def _suspects(between: RevisionRange, step: Step, no_ops: Collection[int]) -> tuple[Revision, ...]:
    """The commits in (old, new]; a no-op change cannot have made the step."""
    positions = range(step.old + 1, step.new + 1)
    effective = [position for position in positions if position not in no_ops]
    return tuple(between.revisions[position] for position in effective or positions)
