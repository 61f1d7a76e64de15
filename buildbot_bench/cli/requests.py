"""The requests that bench-bisect and bench-compare send to a farm, one for each command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
    """Search (old, new]; `min_effect` is a fraction of the old level, `fix` is carried along.

    `priority` is low, normal or high; None: the farm's word for what is usual.
    """

    old: str
    new: str
    testbed: str | None
    workload: str | None
    min_effect: float | None
    fix: str | None
    priority: str | None
    dry_run: bool
    wait: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkSearch:
    """Say what a report was; `kind` is the farm's to know, `revision` fixed it or is None."""

    search_id: int
    kind: str
    revision: str | None


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
