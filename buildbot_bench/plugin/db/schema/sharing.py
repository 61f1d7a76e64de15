"""The table of the last span of virtual time that each claimant had of each worker."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema.columns import METADATA, HostileText

SHARE = sa.Table(
    "bench_share",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("worker", HostileText, nullable=False),
    sa.Column("claimant", HostileText, nullable=False),
    sa.Column("start", sa.Double, nullable=False),
    sa.Column("finish", sa.Double, nullable=False),
    sa.UniqueConstraint("worker", "claimant"),
)
