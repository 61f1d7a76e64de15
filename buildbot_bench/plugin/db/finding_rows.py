"""A row of what follows from measurements: judgements, searches, comparisons, mails, and opinions.

Field names, times and `version` are those of rows; the rows know no SQL and take no decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from buildbot_bench.plugin.db.states import (
    AbTestState,
    JudgementState,
    MarkKind,
    NoticeKind,
    ReportState,
    SearchReason,
    SearchState,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgementRow:
    """A sample judged against an older one; `effect`, `low`, `high` are relative to the older."""

    id: int
    testbed: str
    workload: str
    unit: str
    old_sha: str
    old_position: int
    new_sha: str
    new_position: int
    state: JudgementState
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


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestRow:
    """Two variants to be compared: `series` are pairs of testbed and workload, `iterations` is n.

    A label is the variant as it was written, its base's name in the usual form. `decided_by` is who
    approved or rejected the patches; None when nobody had to.
    """

    id: int
    base_image_id: int
    base_tunables: str
    base_label: str
    new_image_id: int
    new_tunables: str
    new_label: str
    series: Sequence[Sequence[str]]
    iterations: int
    confidence: float
    min_effect: float
    requester: str
    state: AbTestState
    detail: str | None
    created_at: float
    ended_at: float | None
    version: int
    decided_by: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.ended_at is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkRow:
    """What somebody said of a search's report or of a verdict; the newest word counts.

    One of `search_id` and `judgement_id` is set. The `fixed_*` are those of the commit that
    mended it; `pending` says that fresh boots were asked for and the broker has not seen to it.
    """

    id: int
    search_id: int | None
    judgement_id: int | None
    kind: MarkKind
    fixed_sha: str | None
    fixed_label: str | None
    author: str
    at_s: float
    pending: bool
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeRow:
    """One thing said of a search's culprit on another site: `body` to `target`, written once.

    `target` is a commit's hash, or a review as in D8526; `body` is Markdown, or a status' line.
    `denials` are those of its `attempts` at which the site was there and did not let us in.
    """

    id: int
    search_id: int
    kind: NoticeKind
    target: str
    body: str
    state: ReportState
    attempts: int
    last_error: str | None
    next_try_at: float
    created_at: float
    sent_at: float | None
    denials: int
    version: int
