"""The table of leases, by which several masters agree."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema.columns import METADATA, HostileText

LEASE = sa.Table(
    "bench_lease",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("token", sa.String(36), nullable=False),
    sa.Column("masterid", sa.Integer, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("trouble", HostileText, nullable=False),
    sa.UniqueConstraint("name"),
)
