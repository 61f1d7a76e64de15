"""Searches, their probes and forecasts, as REST gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from buildbot_bench.api.states import ProbeState, SearchState
from buildbot_bench.api.texts import Line, Lines, Nouns


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
