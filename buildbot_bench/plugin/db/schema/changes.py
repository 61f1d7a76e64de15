"""The table in which triggers count the changes of the other tables."""

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
