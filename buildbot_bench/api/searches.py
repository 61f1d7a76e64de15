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
    """What is searched; `warnings` say what to doubt of the names of its ends."""

    old: RevisionShown
    new: RevisionShown
    commits: int
    testbed: Line
    workload: Line
    warnings: tuple[Line, ...] = ()
    iteration: Line = Nouns().iteration


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
class SuspectShown:
    """A part (old, new] of the range in which a step may lie.

    `effect` is relative to old, None where builds or boots fail.
    """

    old: Line
    new: Line
    probability: float
    effect: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchShown:
    """A search as it stands; `text` is the report when there is one.

    `kind` says what it looks for: an `effect`, or what does not `build` or `boot`. Times are in
    seconds since 1970.
    """

    searchid: int
    state: SearchState
    testbed: Line
    workload: Line
    old: RevisionShown
    new: RevisionShown
    commits: int
    created_at: float
    requester: Line = ""
    kind: Line = "effect"
    nouns: Nouns = field(default_factory=Nouns)
    iterations_done: int = 0
    images_built: int = 0
    forecast: ForecastShown | None = None
    suspects: tuple[SuspectShown, ...] = ()
    now: Line = ""
    report: Mapping[str, Any] | None = None
    text: Lines | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in {SearchState.RUNNING, SearchState.CANCELLING}


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
