"""Makes a reader's steps of the search's: commits for positions, and the values of both levels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from buildbot_bench.core.report.contrast import Values, contrast, side
from buildbot_bench.core.report.model import Contrast, Kind, Setting, StepReport
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Answer, Step

_ROUNDING = 1e-9  # 1 - 0.01 and 0.99 differ in the last bit


def kind_of(answer: Answer, *, error: float) -> Kind:
    """What an answer comes to when it may be wrong with probability `error`.

    Not reproduced is a statement about both ends: it takes both to have been measured, so a part
    that is left open makes the answer inconclusive.
    """
    if any(_is_sure(step, error) for step in answer.steps):
        return Kind.CULPRIT
    proved_equal = not (answer.reproduced or answer.steps or answer.unresolved)
    return Kind.NOT_REPRODUCED if proved_equal else Kind.INCONCLUSIVE


def describe_steps(
    between: RevisionRange,
    answer: Answer,
    values: Values,
    no_ops: Collection[int],
    setting: Setting,
) -> Iterator[StepReport]:
    """The answer's steps, oldest first, each with the values of the levels on its two sides."""
    for step in sorted(answer.steps, key=lambda step: step.new):
        sure = _is_sure(step, setting.error)
        before, after = (
            levels(answer, step.old, step.new, between.n) if sure else ([step.old], [step.new])
        )
        old, new = side(values, between, before), side(values, between, after)
        yield StepReport(
            old=between.revisions[step.old],
            new=between.revisions[step.new],
            suspects=_suspects(between, step, no_ops),
            effect=step.effect,
            low=step.low,
            high=step.high,
            probability=step.probability,
            sure=sure,
            regression=(step.effect < 0) == setting.metric.higher_is_better,
            contrast=contrast(old, new, metric=setting.metric, confidence=setting.confidence),
        )


def find_headline(steps: Sequence[StepReport]) -> StepReport | None:
    """The largest sure regression; without one, the largest sure improvement."""
    sure = [step for step in steps if step.sure]
    return max(sure, key=lambda step: (step.regression, abs(step.effect)), default=None)


def contrast_ends(between: RevisionRange, values: Values, setting: Setting) -> Contrast:
    """The two ends of the range, held against each other."""
    old, new = (side(values, between, [position]) for position in (0, between.n))
    return contrast(old, new, metric=setting.metric, confidence=setting.confidence)


def _is_sure(step: Step, error: float) -> bool:
    return step.probability >= 1 - error - _ROUNDING


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
