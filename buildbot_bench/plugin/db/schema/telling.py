"""What follows from it and whom it is told: verdicts, searches, mails, marks and notices."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.core.revision import SHA_LENGTH
from buildbot_bench.plugin.db import states
from buildbot_bench.plugin.db.schema.base import DIGEST_LENGTH, METADATA, version
from buildbot_bench.plugin.db.types import HostileText, JsonText, choice

COMPARISON = sa.Table(
    "bench_comparison",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("unit", HostileText, nullable=False),
    sa.Column("old_sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("old_position", sa.Integer, nullable=False),
    sa.Column("new_sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("new_position", sa.Integer, nullable=False),
    sa.Column("state", choice(states.ComparisonState), nullable=False),
    sa.Column("effect", sa.Double),
    sa.Column("low", sa.Double),
    sa.Column("high", sa.Double),
    sa.Column("p_value", sa.Double),
    sa.Column("probability", sa.Double),
    sa.Column("rounds", sa.Integer, nullable=False),
    sa.Column("verdict", JsonText),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
    sa.Column("search_id", sa.ForeignKey("bench_search.id")),
    version(),
    sa.UniqueConstraint("testbed", "workload", "new_sha", "old_sha"),
    sa.Index(None, "state"),
    sa.Index(None, "new_sha"),
)

SEARCH = sa.Table(
    "bench_search",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", HostileText, unique=True),
    sa.Column("branch", HostileText, nullable=False),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("unit", HostileText, nullable=False),
    sa.Column("old_sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("old_position", sa.Integer, nullable=False),
    sa.Column("new_sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("new_position", sa.Integer, nullable=False),
    sa.Column("claimed", sa.Double),
    sa.Column("min_effect", sa.Double, nullable=False),
    sa.Column("error", sa.Double, nullable=False),
    sa.Column("reason", choice(states.SearchReason), nullable=False),
    sa.Column("requester", HostileText, nullable=False),
    sa.Column("state", choice(states.SearchState), nullable=False),
    sa.Column("answer", JsonText),
    sa.Column("forecast", JsonText),
    sa.Column("detail", HostileText),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    version(),
    sa.Column("fix_sha", sa.String(SHA_LENGTH)),
    sa.Column("fix_patch", sa.String(DIGEST_LENGTH)),
    sa.Index(None, "state"),
    sa.Index(None, "testbed", "workload"),
)

REPORT = sa.Table(
    "bench_report",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("search_id", sa.ForeignKey(SEARCH.c.id), unique=True),
    sa.Column("state", choice(states.ReportState), nullable=False),
    sa.Column("message_id", sa.Text, nullable=False),
    sa.Column("subject", HostileText, nullable=False),
    sa.Column("recipients", JsonText, nullable=False),
    sa.Column("message", sa.LargeBinary, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("last_error", HostileText),
    sa.Column("next_try_at", sa.Double, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("sent_at", sa.Double),
    version(),
    sa.Column("key", HostileText, nullable=False, unique=True),
    sa.Index(None, "state", "next_try_at"),
)

MARK = sa.Table(
    "bench_mark",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("search_id", sa.ForeignKey(SEARCH.c.id)),
    sa.Column("comparison_id", sa.ForeignKey(COMPARISON.c.id)),
    sa.Column("kind", choice(states.MarkKind), nullable=False),
    sa.Column("fixed_sha", sa.String(SHA_LENGTH)),
    sa.Column("fixed_label", HostileText),
    sa.Column("author", HostileText, nullable=False),
    sa.Column("at_s", sa.Double, nullable=False),
    sa.Column("pending", sa.Boolean, nullable=False, default=False),
    version(),
    sa.Index(None, "search_id"),
    sa.Index(None, "comparison_id"),
    sa.Index(None, "pending"),
)

NOTICE = sa.Table(
    "bench_notice",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("search_id", sa.ForeignKey(SEARCH.c.id), nullable=False),
    sa.Column("kind", choice(states.NoticeKind), nullable=False),
    sa.Column("target", HostileText, nullable=False),
    sa.Column("body", HostileText, nullable=False),
    sa.Column("state", choice(states.ReportState), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("last_error", HostileText),
    sa.Column("next_try_at", sa.Double, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("sent_at", sa.Double),
    sa.Column("denials", sa.Integer, nullable=False, default=0, server_default="0"),
    version(),
    sa.UniqueConstraint("search_id", "kind", "target"),
    sa.Index(None, "state", "next_try_at"),
)
