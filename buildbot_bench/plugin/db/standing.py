"""Queries on what masters began and did not end, in Buildbot's tables and in the farm's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.condition import StandingStill
from buildbot_bench.plugin.db.schema import IMAGE, PROBE, PROFILE
from buildbot_bench.plugin.db.sql import fetch_all
from buildbot_bench.plugin.db.states import ImageState, ProfileState

_REQUESTS = sa.table(
    "buildrequests",
    *map(sa.column, ("id", "buildsetid", "builderid", "complete", "complete_at")),
)
_BUILDSETS = sa.table("buildsets", *map(sa.column, ("id", "complete")))
_CLAIMS = sa.table("buildrequest_claims", *map(sa.column, ("brid", "masterid", "claimed_at")))
_BUILDS = sa.table(
    "builds",
    *map(sa.column, ("id", "number", "builderid", "buildrequestid", "masterid")),
    *map(sa.column, ("started_at", "complete_at", "results")),
)
_STEPS = sa.table("steps", *map(sa.column, ("buildid", "started_at", "complete_at", "results")))
_BUILDERS = sa.table("builders", *map(sa.column, ("id", "name")))
_MOST = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class BegunBuild:
    """A build that has no end, or has `ended` and left a step without one."""

    id: int
    brid: int
    ended: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class BegunRequest:
    """A build request that a master claims, with the results of its newest build if that ended."""

    brid: int
    claimed_at: int
    results: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """What a master began and did not end; no build below `first` will be among it again.

    `buildsets` are those of all masters whose requests are complete.
    """

    builds: tuple[BegunBuild, ...]
    requests: tuple[BegunRequest, ...]
    buildsets: tuple[int, ...]
    first: int


def begun(conn: sa.Connection, masterid: int, *, first: int = 0) -> Begun:
    """What a master began and did not end; of builds, those from the number `first` on."""
    step = sa.select(_STEPS.c.buildid).where(
        _STEPS.c.buildid == _BUILDS.c.id, _STEPS.c.results.is_(None)
    )
    query = sa.select(_BUILDS).where(
        _BUILDS.c.id >= first,
        _BUILDS.c.masterid == masterid,
        sa.or_(_BUILDS.c.complete_at.is_(None), step.exists()),
    )
    builds = tuple(
        BegunBuild(id=row.id, brid=row.buildrequestid, ended=row.complete_at is not None)
        for row in conn.execute(query.order_by(_BUILDS.c.id))
    )
    open_request = sa.select(_REQUESTS.c.id).where(
        _REQUESTS.c.buildsetid == _BUILDSETS.c.id, _REQUESTS.c.complete == 0
    )
    done = sa.select(_BUILDSETS.c.id).where(_BUILDSETS.c.complete == 0, ~open_request.exists())
    newest = conn.execute(sa.select(sa.func.max(_BUILDS.c.id))).scalar() or 0
    return Begun(
        builds=builds,
        requests=tuple(_claimed(conn, masterid)),
        buildsets=tuple(conn.execute(done.order_by(_BUILDSETS.c.id)).scalars()),
        first=builds[0].id if builds else newest,
    )


def _claimed(conn: sa.Connection, masterid: int) -> list[BegunRequest]:
    results = (
        sa.select(_BUILDS.c.results)
        .where(_BUILDS.c.buildrequestid == _CLAIMS.c.brid)
        .order_by(_BUILDS.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = (
        sa.select(_CLAIMS.c.brid, _CLAIMS.c.claimed_at, results.label("results"))
        .join(_REQUESTS, _REQUESTS.c.id == _CLAIMS.c.brid)
        .where(_REQUESTS.c.complete == 0, _CLAIMS.c.masterid == masterid)
    )
    return fetch_all(conn, query.order_by(_CLAIMS.c.brid), BegunRequest)


def unclaim(conn: sa.Connection, masterid: int, requests: Iterable[BegunRequest]) -> list[int]:
    """Give back what a master claims, unless it was claimed anew meanwhile; which those are."""
    released = []
    for one in requests:
        theirs = sa.delete(_CLAIMS).where(
            _CLAIMS.c.brid == one.brid,
            _CLAIMS.c.masterid == masterid,
            _CLAIMS.c.claimed_at == one.claimed_at,
        )
        if conn.execute(theirs).rowcount:
            released.append(one.brid)
    return released


def standing_still(conn: sa.Connection, before_s: float) -> list[StandingStill]:
    """What was begun, has not ended, and has not moved since `before_s`; at most 20 of a kind.

    A build that is in a step counts as one that moves: the tables cannot tell.
    """
    return [
        *_idle_builds(conn, before_s),
        *_idle_requests(conn, before_s),
        *_of_the_farm(conn, before_s),
    ]


def _idle_builds(conn: sa.Connection, before_s: float) -> Iterator[StandingStill]:
    """Builds without an end that have been between two steps for so long."""
    of_build = _STEPS.c.buildid == _BUILDS.c.id
    runs = sa.select(_STEPS.c.buildid).where(of_build, _STEPS.c.results.is_(None))
    last = sa.select(sa.func.max(_STEPS.c.complete_at)).where(of_build).scalar_subquery()
    since = sa.func.coalesce(last, _BUILDS.c.started_at)
    query = (
        sa.select(_BUILDERS.c.name, _BUILDS.c.number, since.label("since_s"))
        .join(_BUILDERS, _BUILDERS.c.id == _BUILDS.c.builderid)
        .where(_BUILDS.c.complete_at.is_(None), since < before_s, ~runs.exists())
    )
    for row in conn.execute(query.order_by(_BUILDS.c.id).limit(_MOST)):
        yield StandingStill(what=f"build {row.number} of {row.name}", since_s=row.since_s)


def _idle_requests(conn: sa.Connection, before_s: float) -> Iterator[StandingStill]:
    """Requests that a master claims without a build that goes on."""
    of_request = _BUILDS.c.buildrequestid == _CLAIMS.c.brid
    runs = sa.select(_BUILDS.c.id).where(of_request, _BUILDS.c.complete_at.is_(None))
    last = sa.select(sa.func.max(_BUILDS.c.complete_at)).where(of_request).scalar_subquery()
    since = sa.func.coalesce(last, _CLAIMS.c.claimed_at)
    query = (
        sa.select(_CLAIMS.c.brid, _BUILDERS.c.name, since.label("since_s"))
        .join(_REQUESTS, _REQUESTS.c.id == _CLAIMS.c.brid)
        .join(_BUILDERS, _BUILDERS.c.id == _REQUESTS.c.builderid)
        .where(_REQUESTS.c.complete == 0, since < before_s, ~runs.exists())
    )
    for row in conn.execute(query.order_by(_CLAIMS.c.brid).limit(_MOST)):
        yield StandingStill(what=f"request {row.brid} for {row.name}", since_s=row.since_s)


def _of_the_farm(conn: sa.Connection, before_s: float) -> Iterator[StandingStill]:
    """Images, probes and captures whose request ended without being collected."""
    for table, state, what, name in (
        (IMAGE, ImageState.BUILDING, "image", IMAGE.c.label),
        (PROBE, ProbeState.ISSUED, "probe", PROBE.c.testbed + " " + PROBE.c.workload),
        (PROFILE, ProfileState.ISSUED, "capture", PROFILE.c.testbed + " " + PROFILE.c.workload),
    ):
        query = (
            sa.select(table.c.id, name.label("name"), _REQUESTS.c.complete_at.label("since_s"))
            .join(_REQUESTS, _REQUESTS.c.id == table.c.brid)
            .where(table.c.state == state, _REQUESTS.c.complete_at < before_s)
        )
        for row in conn.execute(query.order_by(table.c.id).limit(_MOST)):
            yield StandingStill(what=f"{what} {row.id} ({row.name})", since_s=row.since_s)
