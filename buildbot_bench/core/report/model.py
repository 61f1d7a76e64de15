"""The report of a finished search as frozen dataclasses, with text cleaned by `one_line`."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import Count, Figure, Share
from buildbot_bench.core.links import NO_LINKS, Links
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.ministat import Comparison
from buildbot_bench.core.report.context import NOBODY_SPOKE, Opinion, SearchStage, TrackRecord
from buildbot_bench.core.report.evidence_model import (
    BootedImage,
    Candidate,
    Check,
    Cost,
    Fact,
    ImageValues,
    OddImageReport,
    ScopeRow,
    SlopeReport,
    Touched,
)
from buildbot_bench.core.report.why import Why
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, Revision
from buildbot_bench.core.sample import Metric
from buildbot_bench.core.search.model import OtherSpeed


class ReportKind(StrEnum):
    """What a search came to; only a culprit or a slope is ever mailed."""

    CULPRIT = "culprit"
    SLOPE = "slope"
    NOT_REPRODUCED = "not-reproduced"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True, slots=True)
class AppliedFix:
    """A commit that a search carried along: to how many revisions it was `applied`.

    `left_out` names those that it does not fit; all others have it.
    """

    fix: str
    applied: Count
    left_out: tuple[str, ...] = ()

    @classmethod
    def of_builds(cls, fix: str, *, applied: Iterable[str], left_out: Iterable[str]) -> Self:
        """From hashes of builds, each counted once, and labels of those that it does not fit."""
        return cls(
            fix=fix[:ABBREVIATION_LENGTH],
            applied=len(set(applied)),
            left_out=tuple(dict.fromkeys(left_out)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """Where a search ran, what counted as a change in it, and whom to ask about it.

    `confidence` is Student's t's, in percent, one of ministat's; `min_effect` and `error` (the
    accepted probability of a wrong answer) are fractions. `url` is the search's page; `operator`
    a person's address, may be empty. `branch` is empty where the farm watches but one. `item` is
    what is measured, by which the report chooses its words. `tunables` are set before the traffic:
    `a.b=1 c.d=2`.
    """

    testbed: str
    workload: str
    metric: Metric
    confidence: float
    min_effect: Share
    farm: str
    search_id: int
    error: Share = 0.01
    url: str | None = None
    operator: str = ""
    carried: AppliedFix | None = None
    branch: str = ""
    item: ItemUnderTest = ItemUnderTest.KERNEL
    links: Links = NO_LINKS
    tunables: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeRecord:
    """One iteration of the search as its log shows it.

    `value` is in `unit`, or None with the reason in `failure`. `at_s` is when it ended, in
    seconds since the epoch; `duration_s` is what it took. `made` is False for one that was asked
    for and never began. `left` is how many commits were still suspected after it, None where
    nobody asked. `times` are what the clocks say of the run of a command.
    """

    serial: int
    label: str
    image: Count = 0
    value: Figure | None = None
    unit: str = ""
    failure: str | None = None
    at_s: float = 0.0
    duration_s: float = 0.0
    note: str = ""
    left: Count | None = None
    made: bool = True
    times: RunTimes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One side of a contrast: the values, in the order measured, and what they are called."""

    label: str
    values: tuple[Figure, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """Two sides held against each other by Student's t, as figures and as ministat's text.

    `comparison` is None and `ministat` empty when a side has too few values for it; `notes` say
    so, or what else a reader should doubt.
    """

    old: Side
    new: Side
    comparison: Comparison | None
    ministat: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels:
    """What a step led from and to, in the metric's unit: means over images of means over boots."""

    old: Figure
    new: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """A change of level: how large, how sure, between which revisions, and who is suspected.

    `old` is the last revision known to be on the old level, `new` the first on the new one.
    `suspects` are the commits that may have made the step, oldest first: one is the culprit,
    several are what untestable revisions left. `effect` and its 95 % interval `low` to `high` are
    fractions of the old level, of that in `levels` where these are known. `probability` is in
    whole percent, rounded down, and at most 0.99, as everything says it that is made of a report.
    `sure` tells whether the search states it, `separated` whether enough images show it that it is
    not one's luck with layout, and `proved` whether both sides have the boots, and Student's t
    shows it: beside the headline, what is not sure and proved is called suspected. `expected_by`
    is who marked it as expected, empty where nobody did. Between `old` and `new`, `believed` counts
    the revisions that were not tried as they lie between failures that are contiguous with the
    certainty of the search, and `untried` those that were not tried and may be testable. `race` is
    what share of the boots has another speed, None where all boots show the step.
    """

    old: Revision
    new: Revision
    suspects: tuple[Revision, ...]
    effect: float
    low: float
    high: float
    probability: Share
    sure: bool
    regression: bool
    contrast: Contrast
    separated: bool = True
    proved: bool = True
    expected_by: str = ""
    levels: Levels | None = None
    believed: Count = 0
    untried: Count = 0
    race: OtherSpeed | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unresolved:
    """A part (old, new] of the range in which a step may lie that could not be narrowed down."""

    old: Revision
    new: Revision
    commits: Count


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """Neighbouring revisions that were not measured for one and the same reason."""

    first: Revision
    last: Revision
    commits: Count
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedSection:
    """A section that an installed package or a search inside a merge adds, in plain text."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class InsideMerge:
    """A merge that brought so many `commits`, and the one of them that made the change.

    `culprit` is None where the merge itself did, or nobody could tell.
    """

    merge: Revision
    commits: Count
    culprit: Revision | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What is to be said of a finished search, in the reader's order.

    `summary` is two sentences; `candidates` are the places that come next after the headline's.
    `disclaimer` is empty unless one of the `checks` is unproven. `scope` has a row for each
    workload and testbed, none when there is but one. `headline` is the step that the report is
    about, None unless the kind is culprit; `steps` are all of them, oldest first, the headline
    among them. `ends` holds the two ends of the range against each other when there is no
    headline. `setup` and `artefacts` are of the headline's two sides. `measured` is every value in
    the order of the range, `stages` how the suspicion narrowed down, `why`
    where the cycles went on both sides, None where that is not sampled. `touched` is what the
    commits touch, None where that is not known. `reproduce` are commands,
    `reason` is why the search ended, `commits` how many lie in (old, new]. `opinion` is the last
    word that somebody said of it, `record` how often the farm was right so far. `added` are the
    sections of installed packages and of merges. `slopes` are stretches that changed little by
    little; `left_out` is the probability that another step lies elsewhere; `odd_images` were not
    believed.
    `marked` is what people said of changes of this series, and what follows from it. `reviews`
    are those that the culprit's message names, as `setting.links` takes them.
    `clocks` says where one of wall and processor time shows a change and the other none, and where
    values are rounded to coarse steps. `second_opinion` says on which testbeds the workload shows
    the change, where another one was asked. `growth` says by how many bytes the kernels of the
    headline's two sides differ, empty where they do not or nobody counted. `inside` are the merges
    inside which a farm went on, the headline's first, each inside the one before it.
    `version` is raised when a key of the JSON changes its meaning.
    """

    version: Literal[1] = 1
    kind: ReportKind
    subject: str
    summary: tuple[str, str]
    headline: StepReport | None
    ends: Contrast | None
    steps: tuple[StepReport, ...]
    unresolved: tuple[Unresolved, ...]
    skipped: tuple[Skipped, ...]
    reproduce: tuple[str, ...]
    probes: tuple[ProbeRecord, ...]
    reason: str
    old: Revision
    new: Revision
    commits: Count
    setting: Setting
    candidates: tuple[Candidate, ...] = ()
    disclaimer: str = ""
    checks: tuple[Check, ...] = ()
    scope: tuple[ScopeRow, ...] = ()
    setup: tuple[Fact, ...] = ()
    artefacts: tuple[BootedImage, ...] = ()
    cost: Cost | None = None
    measured: tuple[ImageValues, ...] = ()
    stages: tuple[SearchStage, ...] = ()
    why: Why | None = None
    touched: Touched | None = None
    opinion: Opinion | None = None
    record: TrackRecord = NOBODY_SPOKE
    added: tuple[AddedSection, ...] = ()
    slopes: tuple[SlopeReport, ...] = ()
    left_out: Share = 0.0
    odd_images: tuple[OddImageReport, ...] = ()
    marked: tuple[str, ...] = ()
    reviews: tuple[str, ...] = ()
    clocks: str = ""
    second_opinion: str = ""
    growth: str = ""
    inside: tuple[InsideMerge, ...] = ()

    @property
    def other_steps(self) -> tuple[StepReport, ...]:
        """The steps that are not the headline, oldest first."""
        return tuple(step for step in self.steps if step is not self.headline)

    @property
    def mailable(self) -> bool:
        """Whether a person is to get a mail: a sure culprit or a slope that made it worse."""
        if self.headline is not None:
            return self.headline.regression and not self.headline.expected_by
        return self.kind is ReportKind.SLOPE and any(slope.regression for slope in self.slopes)
