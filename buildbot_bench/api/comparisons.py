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
    text: Lines


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonShown:
    """A comparison as it stands; `text`, `markdown` and `report` are there when it has ended.

    `outcome` is what it came to, in one line, empty until then. `patches` are those that await
    approval. Times are in seconds since 1970.
    """

    comparisonid: int
    state: AbTestState
    title: Line
    boots_done: int
    boots: int
    created_at: float
    requester: Line = ""
    now: Line = ""
    nouns: Nouns = field(default_factory=Nouns)
    outcome: Line = ""
    report: Mapping[str, Any] | None = None
    text: Lines | None = None
    markdown: Lines | None = None
    patches: tuple[HeldPatch, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in _UNDER_WAY


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedCost:
    """What it takes to find a change of `effect`, a fraction."""

    effect: float
    images: int
    boots: int
    hours: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonBegun:
    """What a comparison that has begun will take; `expected` where further images may be built."""

    comparisonid: int
    title: Line
    boots: int
    hours: float
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
