"""What is built: the commits of a branch, their images, and where kernels lie."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.core.revision import SHA_LENGTH
from buildbot_bench.plugin.db import states
from buildbot_bench.plugin.db.schema.base import DIGEST_LENGTH, METADATA, version
from buildbot_bench.plugin.db.types import HostileText, JsonText, choice

COMMIT = sa.Table(
    "bench_commit",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("branch", HostileText, nullable=False),
    sa.Column("sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("parent_sha", sa.String(SHA_LENGTH)),
    sa.Column("svn", sa.Integer),
    sa.Column("subject", HostileText, nullable=False),
    sa.Column("author", HostileText, nullable=False),
    sa.Column("committed_at_s", sa.BigInteger, nullable=False),
    sa.Column("important", sa.Boolean, nullable=False),
    sa.Column("arrived_at", sa.Double, nullable=False),
    sa.UniqueConstraint("branch", "position"),
    sa.UniqueConstraint("branch", "sha"),
    sa.Index(None, "svn"),
)

IMAGE = sa.Table(
    "bench_image",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("variant", HostileText, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("label", HostileText, nullable=False),
    sa.Column("state", choice(states.ImageState), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False, default=0),
    sa.Column("brid", sa.Integer),
    sa.Column("reason", HostileText),
    sa.Column("digest", sa.Text),
    sa.Column("size", sa.BigInteger),
    sa.Column("path", HostileText),
    sa.Column("build_s", sa.Double),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
    version(),
    sa.Column("kernel_digest", sa.Text),
    sa.Column("manifest", JsonText),
    sa.UniqueConstraint("variant", "ordinal"),
    sa.Index(None, "position"),
    sa.Index(None, "state"),
)

ARTEFACT = sa.Table(
    "bench_artefact",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(DIGEST_LENGTH), nullable=False, unique=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("stored_at", sa.Double, nullable=False),
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
