"""Comparisons and their result directories, as REST gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from buildbot_bench.api.states import AbTestState
from buildbot_bench.api.texts import Line, Lines, Nouns

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
class ResultFile:
    """A file of a result directory: its text, or in `base64` what is none."""

    path: str
    text: str | None = None
    base64: bytes | None = None

    @property
    def content(self) -> bytes:
        """What is written into it."""
        return (self.text or "").encode("utf-8", "replace") if self.base64 is None else self.base64
