"""Keeps a group of the archive in the tables as if the farm had measured it; once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import sqlalchemy as sa

from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.commits import add_commits
from buildbot_bench.plugin.db.images import change_image, ensure_image
from buildbot_bench.plugin.db.probes import change_probe, ensure_probe, probe_by_key
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.samples import add_iteration
from buildbot_bench.plugin.db.states import ImageState, ProbeReason, ProbeState
from buildbot_bench.plugin.importing.archive import Group

# What one boot and one blast of the archive's took; it does not say so itself.
_DURATION_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """Where the farm would have measured it."""

    branch: str
    testbed: str
    workload: str
    epoch: str


def is_kept(conn: sa.Connection, group: Group, revision: Revision, lane: Lane) -> bool:
    """Whether this group was kept before."""
    return probe_by_key(conn, _key(group, revision, lane)) is not None


def keep(conn: sa.Connection, group: Group, revision: Revision, lane: Lane, *, now: float) -> bool:
    """Keep it, in the caller's transaction; False when it was kept before.

    There is no artefact: the image counts as one whose builders failed, so that whoever asks for
    boots of it has it built. The commit counts as unimportant: nobody measures it elsewhere.
    """
    if is_kept(conn, group, revision, lane):
        return False
    commit = NewCommit.of(revision, important=False, arrived_at=now)
    add_commits(conn, lane.branch, [commit])
    image = ensure_image(
        conn,
        sha=revision.sha,
        variant=revision.sha,
        ordinal=0,
        position=revision.position,
        label=revision.label,
        now=now,
    )
    if image.state == ImageState.WANTED and image.brid is None:
        reason = "its measurements were imported; there is no artefact"
        change_image(conn, image, now=now, state=ImageState.FAILED, reason=reason)
    begun_at_s = group.built_at_s or float(revision.committed_at_s)
    probe = ensure_probe(
        conn,
        key=_key(group, revision, lane),
        token="",
        image_id=image.id,
        testbed=lane.testbed,
        workload=lane.workload,
        epoch=lane.epoch,
        iterations=len(group.boots),
        priority=0,
        reason=ProbeReason.BACKFILL,
        search_id=None,
        now=now,
    )
    ended = {"state": ProbeState.DONE, "judged": True, "ended_at": now}
    probe = change_probe(conn, probe, **ended) or probe
    for ordinal, boot in enumerate(group.boots):
        add_iteration(
            conn,
            probe=probe,
            ordinal=ordinal,
            unit="pps",
            value=boot.value,
            failure=None,
            at_s=begun_at_s + ordinal * _DURATION_S,
            duration_s=_DURATION_S,
            log=boot.log,
            facts={"uname": group.uname, "imported from": group.place},
        )
    return True


def _key(group: Group, revision: Revision, lane: Lane) -> str:
    """What names it wherever the archive lies: where it is kept and what was measured."""
    content = [group.series, group.configuration, group.uname, *(str(b.value) for b in group.boots)]
    digest = hashlib.sha256("\0".join(content).encode()).hexdigest()
    return f"import:{lane.testbed}:{lane.workload}:{revision.sha}:{digest[:32]}"
