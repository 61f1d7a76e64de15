"""Gathers the values of two sides of a range and holds them against each other; judges nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from buildbot_bench.core import ministat, ministat_text
from buildbot_bench.core.report.model import Contrast, Side
from buildbot_bench.core.report.words import count
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import Metric, NoiseClass, Sample

BLIND_SPOTS = (
    "counted, not timed. What instructions cost in time is not seen: misses of caches and "
    "branches, locks and other processors, devices and their drivers; hardware has the last word"
)

Values = Mapping[int, tuple[float, ...]]


def values_by_position(samples: Iterable[Sample], metric: Metric) -> Values:
    """All values of the metric at each position of the range, image after image."""
    gathered: dict[int, tuple[float, ...]] = {}
    for sample in sorted(samples, key=lambda sample: (sample.position, sample.image)):
        if sample.metric.unit == metric.unit and sample.values:
            gathered[sample.position] = gathered.get(sample.position, ()) + sample.values
    return gathered


def side(values: Values, between: RevisionRange, positions: Sequence[int]) -> Side:
    """The first of some positions of one level, and as many after it as Student's t needs.

    A search measures a revision no more often than it must, so one revision alone may have too
    few values; its neighbours on the same level then stand in, and the label says so.
    """
    taken: list[int] = []
    gathered: list[float] = []
    for position in positions:
        if gathered and len(gathered) >= ministat.MIN_VALUES:
            break
        if found := values.get(position):
            taken.append(position)
            gathered.extend(found)
    return Side(label=_label(between, taken or positions[:1]), values=tuple(gathered))


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
    comparison = ministat.compare(old.values, new.values, confidence=confidence)
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


def _label(between: RevisionRange, positions: Sequence[int]) -> str:
    first, last = (between.revisions[end].label for end in (min(positions), max(positions)))
    if len(positions) == 1:
        return first
    return f"{first} to {last} ({len(positions)} revisions measured)"
