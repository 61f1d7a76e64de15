"""The requests that bench-bisect sends to a farm, one for each command."""

from __future__ import annotations

from dataclasses import dataclass


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
class FollowSearch:
    """Show a search until it ends, and its answer."""

    search_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CancelSearch:
    """End a search without an answer."""

    search_id: int


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
class ListSearches:
    """Show the newest searches."""


Request = StartSearch | FollowSearch | CancelSearch | MarkSearch | ReleaseTestbed | ListSearches
