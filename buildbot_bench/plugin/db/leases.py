"""Leases by which several masters divide their work, timed by the database's clock.

A lease belongs to the token of its holder. A lease that ran out, or that an earlier process of the
same master held, may be taken with a new token. A transaction that checks the old token
(`must_hold`) then fails, however long its process stood still.
"""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import quoted
from buildbot_bench.plugin.db.farm_rows import LeaseRow
from buildbot_bench.plugin.db.schema import LEASE
from buildbot_bench.plugin.db.sql import fetch, fetch_all, insert_unless_known

# A process that stands still in the middle of a change holds the lease's row; PostgreSQL then ends
# its connection, so that another master may take the lease.
IDLE_MS = 10_000
BROKER = "broker"
"""The lease of the master that runs the broker; those by which masters live are `master:ID`."""

_REQUESTS = sa.table("buildrequests", sa.column("id"), sa.column("complete"))
_CLAIMS = sa.table("buildrequest_claims", sa.column("brid"), sa.column("masterid"))
_BUILDS = sa.table("builds", sa.column("masterid"), sa.column("complete_at"))
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
