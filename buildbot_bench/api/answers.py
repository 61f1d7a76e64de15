"""Searches with probes and forecasts, and comparisons, with their states, as REST gives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import Cleaned
from buildbot_bench.core.legible import long_line, several_lines


class ProbeState(StrEnum):
    """`lost`: its build ended without all iterations and is not tried again."""

    NEW = "new"
    ISSUED = "issued"
    DONE = "done"
    LOST = "lost"
    CANCELLED = "cancelled"


class SearchState(StrEnum):
    """`running` and `cancelling` are the ones that the broker still works on."""

    RUNNING = "running"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    FOUND = "found"
    SLOPE = "slope"
    NOT_REPRODUCED = "not-reproduced"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class AbTestState(StrEnum):
    """`running` and `cancelling` are the ones that the broker still works on.

    `awaiting approval`: its patches are a stranger's; `rejected`: they are not built.
    `untestable`: one of the variants does not build, boot or pass traffic; of the others there is
    what can be compared.
    """

    AWAITING = "awaiting approval"
    REJECTED = "rejected"
    RUNNING = "running"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    DONE = "done"
    UNTESTABLE = "untestable"
    FAILED = "failed"


Line = Annotated[str, Cleaned(by=long_line)]
Lines = Annotated[str, Cleaned(by=several_lines)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Nouns:
    """What an iteration, an image and the place are called; a farm that says nothing boots."""

    iteration: Line = ItemUnderTest.KERNEL.iteration
    built: Line = ItemUnderTest.KERNEL.built
    place: Line = ItemUnderTest.KERNEL.place


@dataclass(frozen=True, kw_only=True, slots=True)
class RevisionShown:
    """One end of a range, as the farm resolved it."""

    label: Line
    sha: Line
    position: int
    subject: Line = ""
    author: Line = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeShown:
    """What is searched, and where."""

    old: RevisionShown
    new: RevisionShown
    commits: int
    testbed: Line
    workload: Line


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeAsked(RangeShown):
    """What would be searched; `warnings` say what to doubt of the names of its ends."""

    warnings: tuple[Line, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastSpread:
    """An expected number: the median, and what nine of ten searches stay below."""

    median: float
    p90: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastShown(RangeShown):
    """What a search will cost; `known_iterations` were measured before and are not repeated."""

    images: ForecastSpread
    iterations: ForecastSpread
    hours: ForecastSpread
    known_iterations: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastAsked(ForecastShown):
    """What a search would cost; `warnings` say what to doubt of it and of the names of its ends."""

    warnings: tuple[Line, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectShown:
    """A part (old, new] of the range in which a step may lie.

    `effect` is relative to old, None where builds or boots fail.
    """

    old: Line
    new: Line
    probability: float
    effect: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSummary:
    """A search as it stands in a list of them.

    `kind` says what it looks for: an `effect`, or what does not `build` or `boot`. Times are in
    seconds since 1970.
    """

    searchid: int
    kind: Line = "effect"
    state: SearchState
    testbed: Line
    workload: Line
    branch: Line = ""
    unit: Line = ""
    tunables: Line = ""
    old: RevisionShown
    new: RevisionShown
    commits: int
    created_at: float
    ended_at: float | None = None
    requester: Line = ""
    priority: Line = "normal"
    nouns: Nouns = field(default_factory=Nouns)
    waits_for: Line = ""
    iterations_done: int = 0
    images_built: int = 0
    forecast: ForecastShown | None = None
    breakage: Mapping[str, Any] | None = None
    recovery: Mapping[str, Any] | None = None
    marks: tuple[Mapping[str, Any], ...] = ()

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in {SearchState.RUNNING, SearchState.CANCELLING}


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchShown(SearchSummary):
    """A search with its suspects; `text` is the report when there is one."""

    suspects: tuple[SuspectShown, ...] = ()
    now: Line = ""
    report: Mapping[str, Any] | None = None
    text: Lines | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeShown:
    """One measured revision of a search; `values` are in `unit`, one per iteration."""

    probeid: int
    serial: int
    label: Line
    position: int
    image: int
    state: ProbeState
    values: tuple[float, ...] = ()
    unit: Line = ""
    failure: Line | None = None
    at: float | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in {ProbeState.NEW, ProbeState.ISSUED}


_UNDER_WAY = frozenset({AbTestState.AWAITING, AbTestState.RUNNING, AbTestState.CANCELLING})


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldPatch:
    """A patch that somebody has to approve, and where it is from."""

    origin: Line
    digest: Line = ""
    text: Lines


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantShown:
    """One of what is compared: what it is called, and what it is."""

    label: Line
    variant: Line


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonSummary:
    """A comparison as it stands in a list of them; the base is the first of its variants.

    `series` are testbeds and workloads. `outcome` is what it came to, in one line, empty until it
    has ended. Times are in seconds since 1970.
    """

    comparisonid: int
    state: AbTestState
    title: Line
    variants: tuple[VariantShown, ...] = ()
    series: tuple[tuple[Line, Line], ...] = ()
    iterations: int = 0
    images: int = 0
    boots_done: int
    boots: int
    now: Line = ""
    waits_for: Line = ""
    nouns: Nouns = field(default_factory=Nouns)
    priority: Line = "normal"
    created_at: float
    ended_at: float | None = None
    requester: Line = ""
    outcome: Line = ""

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in _UNDER_WAY


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonShown(ComparisonSummary):
    """A comparison; `text`, `markdown` and `report` are there when it has ended.

    `patches` are those that await approval.
    """

    report: Mapping[str, Any] | None = None
    text: Lines | None = None
    markdown: Lines | None = None
    patches: tuple[HeldPatch, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedCost:
    """What it takes to find a change of `effect`, a fraction."""

    effect: float
    images: int
    boots: int
    hours: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonBegun:
    """What a comparison that has begun will take: `boots` of the first images of all series.

    Those that are not there yet take `hours`. `expected` is what tells a change of the smallest
    effect that matters; None where no variant may have further images.
    """

    comparisonid: int
    state: Line = ""
    title: Line
    variants: tuple[VariantShown, ...] = ()
    series: tuple[tuple[Line, Line], ...] = ()
    boots: int
    hours: float
    images: int = 0
    nouns: Nouns = field(default_factory=Nouns)
    expected: ExpectedCost | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CostShown:
    """One thing that a commit costs besides; None is what is not there, or not known."""

    name: Line
    unit: Line
    old: float | None
    new: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitCosts:
    """What a commit's first image costs, and that of the revision `old`, built before it.

    `old` is empty where none was. The first rows are the kernel's and the build's; then come
    modules of another size, the largest change first, but for those beyond the first 20.
    """

    old: Line = ""
    rows: tuple[CostShown, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultFile:
    """A file of a result directory: its text, or in `base64` what is none."""

    path: str
    text: str | None = None
    base64: bytes | None = None

    @property
    def content(self) -> bytes:
        """What is written into it."""
        return (self.text or "").encode("utf-8", "replace") if self.base64 is None else self.base64
