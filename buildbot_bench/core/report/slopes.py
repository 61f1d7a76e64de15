"""Slopes and odd images of a search, as its report shows them."""

from collections.abc import Iterator
from dataclasses import dataclass

from buildbot_bench.core.json_model import Count
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Answer, SlopePart


@dataclass(frozen=True, kw_only=True, slots=True)
class PartReport:
    """What the level changed by in (old, new]: fractions, with the 95 % interval low..high."""

    old: Revision
    new: Revision
    commits: Count
    effect: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SlopeReport:
    """A stretch whose ends differ, though none of its commits changes min-effect by itself.

    `parts` share it out, oldest first; fractions as those of PartReport.
    """

    whole: PartReport
    regression: bool
    parts: tuple[PartReport, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class OddImageReport:
    """An image that reads `effect` (a fraction) off its own revision: luck with layout."""

    revision: Revision
    image: Count
    effect: float


def describe_slopes(
    between: RevisionRange, answer: Answer, *, higher_is_better: bool
) -> Iterator[SlopeReport]:
    """The answer's slopes, oldest first."""
    for slope in answer.slopes:
        yield SlopeReport(
            whole=_part(between, slope.whole),
            regression=(slope.whole.effect < 0) == higher_is_better,
            parts=tuple(_part(between, part) for part in slope.parts),
        )


def describe_odd_images(between: RevisionRange, answer: Answer) -> Iterator[OddImageReport]:
    """The images that were not believed, by revision."""
    for odd in answer.odd_images:
        yield OddImageReport(
            revision=between.revisions[odd.position], image=odd.image, effect=odd.effect
        )


def _part(between: RevisionRange, part: SlopePart) -> PartReport:
    return PartReport(
        old=between.revisions[part.old],
        new=between.revisions[part.new],
        commits=part.new - part.old,
        effect=part.effect,
        low=part.low,
        high=part.high,
    )
