"""Queries of leases, and of work that a master had begun."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import quoted
from buildbot_bench.plugin.db.columns import ImageState, ProfileState
from buildbot_bench.plugin.db.schema import IMAGE, LEASE, PROBE, PROFILE, LeaseRow
from buildbot_bench.plugin.db.sql import fetch, fetch_all, insert_unless_known

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


def standing_still(conn: sa.Connection, before_s: float) -> list[tuple[str, float]]:
    """What was begun, has not ended, and has not moved since `before_s`, with its last move.

    There are at most 20 of a kind. A build that is in a step counts as one that moves: the tables
    cannot tell.
    """
    return [
        *_idle_builds(conn, before_s),
        *_idle_requests(conn, before_s),
        *_of_the_farm(conn, before_s),
    ]


def _idle_builds(conn: sa.Connection, before_s: float) -> Iterator[tuple[str, float]]:
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
        yield f"build {row.number} of {row.name}", row.since_s


def _idle_requests(conn: sa.Connection, before_s: float) -> Iterator[tuple[str, float]]:
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
        yield f"request {row.brid} for {row.name}", row.since_s


def _of_the_farm(conn: sa.Connection, before_s: float) -> Iterator[tuple[str, float]]:
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
            yield f"{what} {row.id} ({row.name})", row.since_s


# A process that stands still in the middle of a change holds the lease's row; PostgreSQL then ends
# its connection, so that another master may take the lease.
IDLE_MS = 10_000
BROKER = "broker"
"""The lease of the master that runs the broker; those by which masters live are `master:ID`."""

_MASTERS = sa.table("masters", sa.column("id"), sa.column("active"))
_CONNECTED = sa.table("connected_workers", sa.column("masterid"))


class LeaseLostError(InfraError):
    """Another master has taken the lease: what was to be changed under it is not."""


def take_lease(
    conn: sa.Connection, name: str, *, token: str, masterid: int, hold_s: float, seize: bool = True
) -> bool:
    """Take a lease unless another master holds it; say whether it was taken.

    Without `seize` what was another's is left alone, though it has run out.
    """
    now = database_time(conn)
    values = {"token": token, "masterid": masterid, "expires_at": now + hold_s, "trouble": ""}
    if insert_unless_known(conn, LEASE, {"name": name, **values}):
        return True
    # A row that is locked is one that its holder uses at this moment.
    seen = sa.select(LEASE).where(LEASE.c.name == name).with_for_update(skip_locked=True)
    row = fetch(conn, seen, LeaseRow)
    if row is None or (row.masterid != masterid and not (seize and row.expires_at <= now)):
        return False
    conn.execute(sa.update(LEASE).where(LEASE.c.id == row.id).values(values))
    return True


def renew_lease(
    conn: sa.Connection, name: str, *, token: str, hold_s: float, trouble: str = ""
) -> bool:
    """Hold a lease for longer; False when it is lost. One that ran out and nobody took is kept."""
    values = {"expires_at": database_time(conn) + hold_s, "trouble": trouble}
    mine = sa.update(LEASE).where(LEASE.c.name == name, LEASE.c.token == token)
    return conn.execute(mine.values(values)).rowcount == 1


def drop_lease(conn: sa.Connection, name: str, *, token: str) -> None:
    """Give a lease back; one that is lost stays whose it is."""
    conn.execute(sa.delete(LEASE).where(LEASE.c.name == name, LEASE.c.token == token))


def must_hold(conn: sa.Connection, name: str, *, token: str) -> None:
    """Keep a lease from being taken until this transaction ends."""
    if conn.dialect.name == "postgresql":
        setting = "idle_in_transaction_session_timeout"
        conn.execute(sa.select(sa.func.set_config(setting, str(IDLE_MS), True)))
    query = sa.select(LEASE.c.id).where(LEASE.c.name == name, LEASE.c.token == token)
    if conn.execute(query.with_for_update(read=True)).first() is None:
        raise LeaseLostError(f"another master has taken the lease {quoted(name)}")


def confirm(conn: sa.Connection) -> None:
    """Change nothing: the guard of the store has its say."""


def leases(conn: sa.Connection) -> list[LeaseRow]:
    """All that have not run out, by their names."""
    query = sa.select(LEASE).where(LEASE.c.expires_at > database_time(conn))
    return fetch_all(conn, query.order_by(LEASE.c.name), LeaseRow)


def busy_masters(conn: sa.Connection) -> set[int]:
    """The masters that Buildbot has as active, with builds that go on, or with open claims."""
    claims = sa.select(_CLAIMS.c.masterid).where(_CLAIMS.c.brid.in_(_open_requests()))
    builds = sa.select(_BUILDS.c.masterid).where(_BUILDS.c.complete_at.is_(None))
    active = sa.select(_MASTERS.c.id).where(_MASTERS.c.active == 1)
    return set(conn.execute(sa.union(claims, builds, active)).scalars())


def release_claims(conn: sa.Connection, masterid: int, *, name: str, token: str) -> list[int]:
    """Give back the requests that a master claims; which they are. No worker is connected to it.

    LeaseLostError when the lease was taken before: the master may be back, and claims anew.
    """
    must_hold(conn, name, token=token)
    conn.execute(sa.delete(_CONNECTED).where(_CONNECTED.c.masterid == masterid))
    mine = _CLAIMS.c.masterid == masterid, _CLAIMS.c.brid.in_(_open_requests())
    released = conn.execute(sa.delete(_CLAIMS).where(*mine).returning(_CLAIMS.c.brid))
    return sorted(released.scalars())


def _open_requests() -> sa.Select[tuple[object]]:
    return sa.select(_REQUESTS.c.id).where(_REQUESTS.c.complete == 0)


def database_time(conn: sa.Connection) -> float:
    """The database's clock, in seconds since the epoch; it goes on within a transaction."""
    if conn.dialect.name == "postgresql":
        clock = sa.text("SELECT extract(epoch FROM clock_timestamp())")
    else:
        clock = sa.text("SELECT (julianday('now') - 2440587.5) * 86400.0")
    return float(conn.execute(clock).scalar_one())
