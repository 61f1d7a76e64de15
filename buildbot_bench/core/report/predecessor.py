"""A commit contrasted with its predecessor by Student's t."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.model import Contrast, Side
from buildbot_bench.core.report.steps import contrast
from buildbot_bench.core.sample import Metric, Sample

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
