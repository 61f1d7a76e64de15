"""Queries on artefacts, the files of built images; touches no file.

A row is there before its file and goes after it: whatever lies in the place is known from here.
"""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.plugin.db.rows import ArtefactRow
from buildbot_bench.plugin.db.schema import ARTEFACT, IMAGE, PROBE, PROFILE, TRIAL
from buildbot_bench.plugin.db.sql import ensure, fetch_all
from buildbot_bench.plugin.db.states import ImageState, ProbeReason, ProbeState, ProfileState

_CLAIMED = sa.and_(IMAGE.c.digest == ARTEFACT.c.digest, IMAGE.c.state == ImageState.BUILT)


def keep_artefact(conn: sa.Connection, *, digest: str, size: int, now: float) -> ArtefactRow:
    """Say that an artefact is about to be stored; its age counts from now on."""
    row = ensure(conn, ARTEFACT, ArtefactRow, {"digest": digest}, {"size": size, "stored_at": now})
    conn.execute(sa.update(ARTEFACT).where(ARTEFACT.c.id == row.id).values(stored_at=now))
    return row


def artefacts(conn: sa.Connection) -> list[ArtefactRow]:
    """All artefacts, oldest first."""
    query = sa.select(ARTEFACT).order_by(ARTEFACT.c.stored_at, ARTEFACT.c.id)
    return fetch_all(conn, query, ArtefactRow)


def claimed_artefacts(conn: sa.Connection) -> dict[int, str]:
    """The digest of each image that is built."""
    query = sa.select(IMAGE.c.id, IMAGE.c.digest).where(IMAGE.c.state == ImageState.BUILT)
    return {row.id: row.digest for row in conn.execute(query)}


def release_artefact(conn: sa.Connection, digest: str) -> None:
    """Take back what images say of an artefact: they are to be built again when asked for."""
    claims = sa.update(IMAGE).where(IMAGE.c.digest == digest, IMAGE.c.state == ImageState.BUILT)
    conn.execute(claims.values(state=ImageState.DROPPED, version=IMAGE.c.version + 1))


def forget_artefact(conn: sa.Connection, digest: str) -> None:
    """Forget an artefact whose file is gone, unless it was built anew meanwhile."""
    claimed = sa.select(IMAGE.c.id).where(_CLAIMED)
    conn.execute(sa.delete(ARTEFACT).where(ARTEFACT.c.digest == digest, ~claimed.exists()))


def needed_images(conn: sa.Connection) -> set[int]:
    """The images that a probe or a profile waits for, all sides of trials, and control images."""
    open_probes = PROBE.c.state.in_([ProbeState.NEW, ProbeState.ISSUED])
    of_control = PROBE.c.reason == ProbeReason.CONTROL
    open_profiles = PROFILE.c.state.in_([ProfileState.NEW, ProfileState.ISSUED])
    queries = (
        sa.select(PROBE.c.image_id).where(sa.or_(open_probes, of_control)),
        sa.select(PROFILE.c.image_id).where(open_profiles),
        sa.select(TRIAL.c.base_image_id),
        sa.select(TRIAL.c.new_image_id),
    )
    return {image for query in queries for image in conn.execute(query).scalars()}


def images_at(conn: sa.Connection, positions: set[int], spans: list[tuple[int, int]]) -> set[int]:
    """The built images of the revisions at some positions, and of all within some spans."""
    query = sa.select(IMAGE.c.id, IMAGE.c.position).where(IMAGE.c.state == ImageState.BUILT)
    return {
        row.id
        for row in conn.execute(query)
        if row.position in positions or any(old <= row.position <= new for old, new in spans)
    }
