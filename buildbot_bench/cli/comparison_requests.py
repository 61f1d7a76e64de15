"""The requests that bench-compare sends to a farm, one for each command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class BootsWanted:
    """How many boots of each variant: so many, or so many `more` than there are."""

    number: int
    more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StartComparison:
    """Compare variants, the base first; `labels` are what some of them are to be called.

    There are `iterations` boots of each one's first image, and at most `images` of each.
    `patches` holds each file that they name, by its name there. `priority` is low, normal or high;
    None: the farm's word for what is usual.
    """

    variants: tuple[str, ...]
    labels: Mapping[str, str]
    testbeds: tuple[str, ...]
    workloads: tuple[str, ...]
    iterations: int
    images: int
    min_effect: float | None
    priority: str | None
    patches: Mapping[str, bytes]
    wait: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtendComparison:
    """Give a comparison more variants or boots, or let it go on where it ended.

    `iterations` is how many boots of each first image there are to be, `images` how many images of
    each there may be; None for as many as there were.
    """

    comparison_id: int
    variants: tuple[str, ...]
    labels: Mapping[str, str]
    iterations: BootsWanted | None
    images: int | None
    patches: Mapping[str, bytes]
    wait: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FollowComparison:
    """Show a comparison until it ends, and its answer."""

    comparison_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CancelComparison:
    """End a comparison without an answer."""

    comparison_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DecideComparison:
    """`approve` or `reject` the patches that somebody without that right wants built and run."""

    comparison_id: int
    decision: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ListComparisons:
    """Show the newest comparisons."""


ComparisonRequest = (
    StartComparison
    | ExtendComparison
    | FollowComparison
    | CancelComparison
    | DecideComparison
    | ListComparisons
)
