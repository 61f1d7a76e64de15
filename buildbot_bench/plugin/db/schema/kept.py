"""The tables of content known by its SHA-256: kernels, lists of read files, patches."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema.columns import DIGEST_LENGTH, METADATA, HostileText

ARTEFACT = sa.Table(
    "bench_artefact",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(DIGEST_LENGTH), nullable=False, unique=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("stored_at", sa.Double, nullable=False),
)

READ_FILES = sa.Table(
    "bench_read_files",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(DIGEST_LENGTH), nullable=False, unique=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

PATCH = sa.Table(
    "bench_patch",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(DIGEST_LENGTH), nullable=False, unique=True),
    sa.Column("origin", HostileText, nullable=False),
    sa.Column("requester", HostileText, nullable=False),
    sa.Column("fetched_at", sa.Double, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
