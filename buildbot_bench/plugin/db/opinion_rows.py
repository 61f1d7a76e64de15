"""What people say of findings, and what is said of them on other sites, each row as a value."""

from __future__ import annotations

from dataclasses import dataclass

from buildbot_bench.plugin.db.states import MarkKind, NoticeKind, ReportState


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkRow:
    """What somebody said of a search's report or of a verdict; the newest word counts.

    One of `search_id` and `comparison_id` is set. The `fixed_*` are those of the commit that
    mended it; `pending` says that fresh boots were asked for and the broker has not seen to it.
    """

    id: int
    search_id: int | None
    comparison_id: int | None
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
