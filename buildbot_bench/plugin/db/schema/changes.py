"""The table that tells whether another table changed; triggers write it."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema.columns import METADATA

CHANGE = sa.Table(
    "bench_change",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(64), nullable=False, index=True),
    sa.Column("changes", sa.BigInteger, nullable=False),
)
