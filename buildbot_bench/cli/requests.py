"""The requests that bench-bisect and bench-compare send to a farm, one for each command."""

from __future__ import annotations

from dataclasses import dataclass

from buildbot_bench.api.requests import (
    ComparisonQuestion,
    Extension,
    MarkAsked,
    SearchQuestion,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Follow:
    """Show a search or a comparison until it ends, and its answer."""

    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cancel:
    """End a search or a comparison without an answer."""

    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ListNewest:
    """Show the newest searches or comparisons."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartSearch:
    """Begin a search, or tell its forecast."""

    question: SearchQuestion
    dry_run: bool
    wait: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkSearch:
    """Say what the report of a search was; the kinds of marks are the farm's to know."""

    search_id: int
    said: MarkAsked


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseTestbed:
    """End a testbed's quarantine; after a `false_alarm` what it measured meanwhile counts."""

    testbed: str
    false_alarm: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class BootsWanted:
    """How many boots of each variant: so many, or so many `more` than there are."""

    number: int
    more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StartComparison:
    """Begin a comparison."""

    question: ComparisonQuestion
    wait: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtendComparison:
    """Give a comparison more variants or boots, or let it go on where it ended."""

    comparison_id: int
    question: Extension
    wait: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DecideComparison:
    """`approve` or `reject` the patches that somebody without that right wants built and run."""

    comparison_id: int
    decision: str


Request = (
    Follow
    | Cancel
    | ListNewest
    | StartSearch
    | MarkSearch
    | ReleaseTestbed
    | StartComparison
    | ExtendComparison
    | DecideComparison
)
