"""A row of what follows from it and whom it is told: verdicts, searches and mails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from buildbot_bench.plugin.db.states import ComparisonState, ReportState, SearchReason, SearchState


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonRow:
    """Two samples compared; `effect`, `low`, `high` are relative to the old end."""

    id: int
    testbed: str
    workload: str
    unit: str
    old_sha: str
    old_position: int
    new_sha: str
    new_position: int
    state: ComparisonState
    effect: float | None
    low: float | None
    high: float | None
    p_value: float | None
    probability: float | None
    rounds: int
    verdict: Any
    created_at: float
    changed_at: float
    search_id: int | None
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRow:
    """What was asked: a range on one testbed and workload, by whom, how sure; and its answer.

    `fix_sha` is a commit that is carried along, `fix_patch` the SHA-256 of its patch.
    """

    id: int
    key: str | None
    branch: str
    testbed: str
    workload: str
    unit: str
    old_sha: str
    old_position: int
    new_sha: str
    new_position: int
    claimed: float | None
    min_effect: float
    error: float
    reason: SearchReason
    requester: str
    state: SearchState
    answer: Any
    forecast: Any
    detail: str | None
    created_at: float
    ended_at: float | None
    version: int
    fix_sha: str | None = None
    fix_patch: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportRow:
    """One mail; `message` is the RFC 5322 text that is sent, byte for byte.

    `key` names what it is about, so that there is no second one: `search:7`, `quarantine:2`.
    """

    id: int
    key: str
    search_id: int | None
    state: ReportState
    message_id: str
    subject: str
    recipients: Sequence[str]
    message: bytes
    attempts: int
    last_error: str | None
    next_try_at: float
    created_at: float
    sent_at: float | None
    version: int
