"""The evidence in a report: checks, scope, facts, cost, slopes and odd images; clean text."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.json_model import Count, Figure, Share
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Answer, SlopePart
from buildbot_bench.core.touched import Touch, TouchClass


class Outcome(StrEnum):
    """What came of a check; one that was not made says nothing for the finding nor against it."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_MADE = "not made"


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One way in which the finding could have been refuted, and how that went."""

    name: str
    outcome: Outcome
    detail: str


class Reach(StrEnum):
    """Whether another workload or testbed changed too.

    `unchanged` is proved: the interval holds no relevant change. `unclear` is all the rest.
    """

    CHANGED = "changed"
    UNCHANGED = "no change"
    UNCLEAR = "unclear"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeRow:
    """What one workload on one testbed did where the step is.

    `effect` and the half width `error` of its interval are fractions of the old level, None when
    it was not measured. It lies somewhere in the `commits` from `old` to `new`, two labels.
    `reported` marks the row that the report is about; `standing` tells of a series that raised an
    alarm, too, whether boots of both sides of the step confirmed it, None of all others.
    """

    testbed: str
    workload: str
    reach: Reach
    effect: Figure | None = None
    error: Figure | None = None
    old: str = ""
    new: str = ""
    commits: Count = 0
    reported: bool = False
    standing: Standing | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One thing that a value depends on besides the kernel, on both sides of the step."""

    name: str
    old: str
    new: str

    @property
    def differs(self) -> bool:
        """Whether the sides were not measured alike."""
        return self.old != self.new


@dataclass(frozen=True, kw_only=True, slots=True)
class BootedImage:
    """What was booted: the digest (SHA-256) of one image, and how many iterations it gave."""

    label: str
    image: Count
    digest: str
    iterations: Count


class Level(StrEnum):
    """On which side of the headline's step a revision lies; `other` is beyond another step."""

    OLD = "old"
    NEW = "new"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageValues:
    """Every value of one image: `position` is an index into the range."""

    label: str
    position: int
    image: Count
    level: Level
    values: tuple[Figure, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Where the step may lie if not where the report says: neighbouring commits, oldest first."""

    first: Revision
    last: Revision
    commits: Count
    probability: Share


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What the search took: boots (those that failed among them), lab time, images, build time."""

    boots: Count
    failed: Count
    lab_s: float
    images: Count = 0
    build_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Touched:
    """How many commits touch what, and with which share of the prior the search began.

    `suspect` is what the headline's only suspect touches, None without one. `reasons` say all this
    in sentences.
    """

    classes: tuple[TouchClass, ...]
    suspect: Touch | None
    reasons: tuple[str, ...]


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
