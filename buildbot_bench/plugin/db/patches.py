"""Queries on patches: storage, size by person, and deletion."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from buildbot_bench.api.states import AbTestState
from buildbot_bench.plugin.db.rows import PatchRow
from buildbot_bench.plugin.db.schema import AB_TEST, AB_TEST_VARIANT, IMAGE, PATCH, SEARCH
from buildbot_bench.plugin.db.sql import Lock, ensure, row_by, serialise
from buildbot_bench.plugin.db.states import ImageState


def add_patch(
    conn: sa.Connection,
    *,
    body: bytes,
    origin: str,
    requester: str,
    now: float,
    most_bytes: int | None = None,
) -> PatchRow | None:
    """Keep a patch; the same bytes stay with their first bringer.

    None, and nothing is kept, when the requester's patches would have more than `most_bytes`.
    """
    digest = hashlib.sha256(body).hexdigest()
    if most_bytes is not None:
        serialise(conn, Lock.PATCHES)
        known = patch(conn, digest)
        if known is None and patch_bytes(conn, requester) + len(body) > most_bytes:
            return None
        # Who brings it again needs it again: it is not deleted before its comparison is there.
        conn.execute(sa.update(PATCH).where(PATCH.c.digest == digest).values(fetched_at=now))
    others = {"body": body, "origin": origin, "requester": requester, "fetched_at": now}
    return ensure(conn, PatchRow, {"digest": digest}, others)


# The patch with a SHA-256 in hexadecimal.
patch = row_by(PatchRow, "digest")


def patch_bytes(conn: sa.Connection, requester: str) -> int:
    """How many bytes of a person's patches are kept."""
    size = sa.func.coalesce(sa.func.sum(sa.func.length(PATCH.c.body)), 0)
    return int(conn.execute(sa.select(size).where(PATCH.c.requester == requester)).scalar_one())


def forget_patches(conn: sa.Connection, before: float) -> int:
    """Delete the patches from before a time that no image, search or comparison is to have.

    Images that were held and whose comparisons were all rejected are to have none. Says how many.
    """
    serialise(conn, Lock.PATCHES)
    compared = (
        sa.select(AB_TEST.c.id)
        .join(AB_TEST_VARIANT, AB_TEST_VARIANT.c.ab_test_id == AB_TEST.c.id)
        .where(AB_TEST_VARIANT.c.image_id == IMAGE.c.id, AB_TEST.c.state != AbTestState.REJECTED)
    )
    has_it = IMAGE.c.variant.contains(PATCH.c.digest)
    needed = sa.or_(IMAGE.c.state != ImageState.HELD, compared.exists())
    image = sa.select(IMAGE.c.id).where(has_it, needed)
    search = sa.select(SEARCH.c.id).where(SEARCH.c.fix_patch == PATCH.c.digest)
    unused = sa.select(PATCH.c.id).where(
        PATCH.c.fetched_at < before, ~image.exists(), ~search.exists()
    )
    numbers = conn.execute(unused).scalars().all()
    conn.execute(sa.delete(PATCH).where(PATCH.c.id.in_(numbers)))
    return len(numbers)
