"""Queries on patches, each kept once under its digest; reads none of them."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from buildbot_bench.plugin.db.rows import PatchRow
from buildbot_bench.plugin.db.schema import PATCH
from buildbot_bench.plugin.db.sql import ensure, fetch


def add_patch(
    conn: sa.Connection, *, body: bytes, origin: str, requester: str, now: float
) -> PatchRow:
    """Keep a patch; the same bytes stay with whoever brought them first."""
    return ensure(
        conn,
        PATCH,
        PatchRow,
        {"digest": hashlib.sha256(body).hexdigest()},
        {"body": body, "origin": origin, "requester": requester, "fetched_at": now},
    )


def patch(conn: sa.Connection, digest: str) -> PatchRow | None:
    """The patch with that SHA-256 in hexadecimal."""
    return fetch(conn, sa.select(PATCH).where(PATCH.c.digest == digest), PatchRow)
