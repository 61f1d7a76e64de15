"""Which other workloads and testbeds changed where the step is, and which did not; finds no step.

Sign matters per testbed and workload: a commit may be +82 % on one and -12 % on another, so each
stands for itself and nothing is averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from buildbot_bench.core import ministat
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.model import Setting, StepReport
from buildbot_bench.core.report.support import Reach, ScopeRow
from buildbot_bench.core.report.surroundings import LaneSamples
from buildbot_bench.core.sample import Sample

_NAME_COLUMNS = 40


def scope(
    step: StepReport, old: int, new: int, lanes: Sequence[LaneSamples], setting: Setting
) -> tuple[ScopeRow, ...]:
    """The reported row, then one for each other lane; none when there is no other.

    `old` and `new` are the positions of the step.
    """
    others = [_row(lane, old, new, setting) for lane in lanes]
    if not others:
        return ()
    reported = ScopeRow(
        testbed=setting.testbed,
        workload=setting.workload,
        reach=Reach.CHANGED,
        effect=step.effect,
        error=(step.high - step.low) / 2,
        old=step.old.label,
        new=step.new.label,
        commits=new - old,
        reported=True,
    )
    return (reported, *sorted(others, key=lambda row: (row.testbed, row.workload)))


def _row(lane: LaneSamples, old: int, new: int, setting: Setting) -> ScopeRow:
    row = ScopeRow(
        testbed=one_line(lane.testbed, columns=_NAME_COLUMNS),
        workload=one_line(lane.workload, columns=_NAME_COLUMNS),
        reach=Reach.NOT_MEASURED,
    )
    before = _nearest(sorted(_up_to(lane.samples, old), key=lambda sample: -sample.position))
    after = _nearest(sorted(_from(lane.samples, new), key=lambda sample: sample.position))
    try:
        held = ministat.compare(_values(before), _values(after), confidence=setting.confidence)
    except UsageError:  # too few values on a side, or none that a t-test can take
        return row
    effect, error = held.difference_percent / 100, abs(held.error_percent) / 100
    return replace(
        row,
        reach=_reach(effect, error, held.significant, setting.min_effect),
        effect=effect,
        error=error,
        old=one_line(before[-1].label, columns=_NAME_COLUMNS),
        new=one_line(after[-1].label, columns=_NAME_COLUMNS),
        commits=after[-1].position - before[-1].position,
    )


def _reach(effect: float, error: float, significant: bool, min_effect: float) -> Reach:
    if significant and abs(effect) >= min_effect:
        return Reach.CHANGED
    if abs(effect) + error < min_effect:
        return Reach.UNCHANGED
    return Reach.UNCLEAR


def _up_to(samples: Iterable[Sample], position: int) -> Iterator[Sample]:
    return (sample for sample in samples if sample.values and sample.position <= position)


def _from(samples: Iterable[Sample], position: int) -> Iterator[Sample]:
    return (sample for sample in samples if sample.values and sample.position >= position)


def _nearest(ordered: Sequence[Sample]) -> list[Sample]:
    """The nearest samples, as many as Student's t needs values."""
    taken: list[Sample] = []
    for sample in ordered:
        if len(_values(taken)) >= ministat.MIN_VALUES and sample.position != taken[-1].position:
            break
        taken.append(sample)
    return taken


def _values(samples: Iterable[Sample]) -> list[float]:
    return [value for sample in samples for value in sample.values]
