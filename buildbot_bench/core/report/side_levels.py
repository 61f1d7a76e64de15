"""The two levels of a step and the change between them, as a report prints it, by both clocks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isclose
from statistics import fmean

from buildbot_bench.core import ministat
from buildbot_bench.core.figures import threshold
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.report.model import Levels, Side
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import Metric, Sample
from buildbot_bench.core.search import Step

# Databases add up in an order of their own: the last digits of one figure may differ.
_ALIKE = 1e-9


@dataclass(frozen=True, kw_only=True)
class MeasuredValues:
    """What was measured of each kernel, under the position of the first revision that has it.

    `of_kernel` has the values of each of its images, in the order of the images. `same` are the
    positions whose kernel is that of the position before.
    """

    of_kernel: Mapping[int, tuple[tuple[float, ...], ...]]
    same: frozenset[int]

    def kernel(self, position: int) -> int:
        """The first position with the kernel of this one."""
        while position in self.same:
            position -= 1
        return position


@dataclass(frozen=True, kw_only=True)
class MeasuredSide:
    """A side and its level (None without values): the mean over images of means over boots."""

    side: Side
    level: float | None
    images: int


@dataclass(frozen=True, kw_only=True)
class PrintedChange:
    """A change as a reader recomputes it: fractions of the old level, and what to note."""

    effect: float
    low: float
    high: float
    levels: Levels | None
    notes: tuple[str, ...]


def measured_values(
    samples: Iterable[Sample], metric: Metric, *, same: Collection[int] = ()
) -> MeasuredValues:
    """All values of the metric of each image of each kernel of the range."""
    gathered: dict[int, dict[int, tuple[float, ...]]] = {}
    values = MeasuredValues(of_kernel={}, same=frozenset(same) - {0})
    for sample in sorted(samples, key=lambda sample: (sample.position, sample.image)):
        if sample.metric.unit == metric.unit and sample.values:
            images = gathered.setdefault(values.kernel(sample.position), {})
            images[sample.image] = images.get(sample.image, ()) + sample.values
    of_kernel = {
        kernel: tuple(images[image] for image in sorted(images))
        for kernel, images in gathered.items()
    }
    return MeasuredValues(of_kernel=of_kernel, same=values.same)


def measure_side(
    values: MeasuredValues, between: RevisionRange, positions: Sequence[int]
) -> MeasuredSide:
    """The first of some positions of one level, and as many after it as Student's t needs.

    A search measures a kernel no more often than it must, so one revision alone may have too few
    values; its neighbours on the same level then stand in, and the label says so. A neighbour
    with the same kernel is no other: which of the two a boot was asked for does not matter.
    """
    taken: dict[int, int] = {}
    images: list[tuple[float, ...]] = []
    for position in positions:
        if sum(map(len, images)) >= ministat.MIN_VALUES:
            break
        kernel = values.kernel(position)
        if kernel not in taken and (found := values.of_kernel.get(kernel)):
            taken[kernel] = position
            images.extend(found)
    label = _label(between, list(taken.values()) or positions[:1])
    return MeasuredSide(
        side=Side(label=label, values=tuple(value for image in images for value in image)),
        level=fmean(map(fmean, images)) if images else None,
        images=len(images),
    )


def change_between(
    old: MeasuredSide,
    new: MeasuredSide,
    step: Step,
    item: ItemUnderTest = ItemUnderTest.KERNEL,
) -> PrintedChange:
    """The change from one printed level to the other, with the search's interval around it.

    The interval keeps the relative width that the search's model of noise gives it. The search
    weighs boots and images by how far off they lie; where the plain means contradict it, which
    is beyond its interval, its own effect is printed, and no levels are.
    """
    own = PrintedChange(effect=step.effect, low=step.low, high=step.high, levels=None, notes=())
    if old.level is None or new.level is None or old.level <= 0:
        return own
    effect = new.level / old.level - 1
    if not step.low <= effect <= step.high:
        return replace(own, notes=(weighed(item),))
    moved = (1 + effect) / (1 + step.effect)
    return PrintedChange(
        effect=effect,
        low=moved * (1 + step.low) - 1,
        high=moved * (1 + step.high) - 1,
        levels=Levels(old=old.level, new=new.level),
        notes=(pooled(item),) if max(old.images, new.images) > 1 else (),
    )


def as_stated(
    stated: Step, now: PrintedChange, item: ItemUnderTest = ItemUnderTest.KERNEL
) -> PrintedChange:
    """The change that was stated when the search ended; boots made since do not move it."""
    then, today = stated.levels or (stated.effect,), pair_of(now.levels) or (now.effect,)
    if len(then) == len(today) and all(map(partial(isclose, rel_tol=_ALIKE), then, today)):
        return now
    return PrintedChange(
        effect=stated.effect,
        low=stated.low,
        high=stated.high,
        levels=Levels(old=stated.levels[0], new=stated.levels[1]) if stated.levels else None,
        notes=(measured_since(item),),
    )


def pair_of(levels: Levels | None) -> tuple[float, float] | None:
    """The old level and the new one, where they are known."""
    return None if levels is None else (levels.old, levels.new)


def measured_since(item: ItemUnderTest) -> str:
    """The note below a block that has more than the search had when it ended."""
    boots = f"{item.iteration}s"
    return (
        f"the block also shows {boots} made after the search ended. "
        f"The percentage above is that of its end."
    )


def pooled(item: ItemUnderTest) -> str:
    """The note below a block of which a side has several images."""
    boots = f"{item.iteration}s"
    return (
        f"the block pools all {boots} of a side. The levels and the percentage above are means: "
        f"first over the {boots} of an image, then over images."
    )


def weighed(item: ItemUnderTest) -> str:
    """The note below a block that does not agree with the search."""
    boots = f"{item.iteration}s"
    return (
        f"the {boots} shown do not agree with the search. The search gives less weight to "
        f"{boots} and images that lie far off. Its percentage differs from the block's."
    )


def _label(between: RevisionRange, positions: Sequence[int]) -> str:
    first, last = (between.revisions[end].label for end in (min(positions), max(positions)))
    if len(positions) == 1:
        return first
    return f"{first} to {last} ({len(positions)} revisions measured)"


# Student's t's, in percent: the sentence is read beside an answer that is sure at 99 %.
_CONFIDENCE = 99.0


def disagreement(old: Sequence[RunTimes], new: Sequence[RunTimes], min_effect: float) -> str:
    """Return a sentence where one of wall and processor time shows a change and the other does not.

    Changes are of `min_effect`, a fraction, at 99 %. Empty where both show one, or runs are few.
    """
    if min(len(old), len(new)) < ministat.MIN_VALUES:
        return ""
    wall, cpu = (
        ministat.compare(
            [getattr(one, clock) for one in old],
            [getattr(one, clock) for one in new],
            confidence=_CONFIDENCE,
        )
        for clock in ("wall_s", "cpu_s")
    )
    if _is_change(wall, min_effect) == _is_change(cpu, min_effect):
        return ""
    pairs = [("wall-clock time", wall), ("processor time", cpu)]
    (seen, shown), (unseen, other) = pairs if _is_change(wall, min_effect) else pairs[::-1]
    return (
        f"{seen.capitalize()} changes by {_figures(shown)}; of {unseen} no change of "
        f"{threshold(min_effect)} is shown: {_figures(other)}."
    )


def _is_change(found: ministat.Comparison, min_effect: float) -> bool:
    return found.significant and abs(found.difference_percent) >= 100 * min_effect


def _figures(found: ministat.Comparison) -> str:
    return f"{found.difference_percent:+.2g} % (± {found.error_percent:.2g} %)"
