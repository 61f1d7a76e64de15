"""Queries on requests to the lab for iterations and captures, and on captures."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.db.rows import CaptureRow, ProbeRequest, ProbeRow, ProfileRow
from buildbot_bench.plugin.db.schema import AB_TEST, PROBE
from buildbot_bench.plugin.db.sql import (
    ensure,
    fetch_all,
    row_by,
    values_of,
)
from buildbot_bench.plugin.db.states import OPEN_PROBES, ProbeReason, ProfileState

# Who measures a commit for its own sake.
OF_COMMITS = (ProbeReason.COMMIT, ProbeReason.BACKFILL, ProbeReason.SCHEDULE)


def ensure_probe(conn: sa.Connection, request: ProbeRequest, *, token: str, now: float) -> ProbeRow:
    """The probe of a request, new if nobody made it before; a known one stays as it is.

    `token` names the job of a new one on the lab worker. What a comparison asks for is on the
    account of the one who pays for it at that time.
    """
    columns = values_of(request)
    del columns["name"]
    of_it = sa.and_(AB_TEST.c.id == request.ab_test_id, AB_TEST.c.limited)
    columns["budget_of"] = sa.select(payer()).where(of_it).scalar_subquery()
    new = {"token": token, "state": ProbeState.NEW, "attempt": request.round, "created_at": now}
    return ensure(conn, ProbeRow, {"key": request.key}, columns | new)


def payer() -> sa.ColumnElement[str]:
    """`AbTestRow.payer` in SQL."""
    return sa.func.coalesce(AB_TEST.c.extended_by, AB_TEST.c.requester)


probe_by_key = row_by(ProbeRow, "key")


def probes(conn: sa.Connection, state: ProbeState | str | None = None) -> list[ProbeRow]:
    """The probes in a state, or all; highest priority first, then oldest first."""
    query = sa.select(PROBE).order_by(PROBE.c.priority.desc(), PROBE.c.id)
    if state is not None:
        query = query.where(PROBE.c.state == state)
    return fetch_all(conn, query, ProbeRow)


def open_probes(conn: sa.Connection) -> list[ProbeRow]:
    """The probes that may still bring something, in the same order."""
    query = sa.select(PROBE).where(PROBE.c.state.in_(OPEN_PROBES))
    return fetch_all(conn, query.order_by(PROBE.c.priority.desc(), PROBE.c.id), ProbeRow)


def recent_probes(conn: sa.Connection, limit: int) -> list[ProbeRow]:
    """The probes that were asked for last, newest first."""
    query = sa.select(PROBE).order_by(PROBE.c.id.desc()).limit(limit)
    return fetch_all(conn, query, ProbeRow)


def first_asked_at(conn: sa.Connection) -> float | None:
    """When the lab was asked for something for the first time."""
    return conn.execute(sa.select(PROBE.c.created_at).order_by(PROBE.c.id).limit(1)).scalar()


def overdue(conn: sa.Connection, before_s: float) -> list[tuple[str, ProbeReason, int, float]]:
    """What has waited since a time: testbed, reason, number of open probes, oldest request."""
    query = (
        sa.select(PROBE.c.testbed, PROBE.c.reason, sa.func.count(), sa.func.min(PROBE.c.created_at))
        .where(PROBE.c.state.in_(OPEN_PROBES), PROBE.c.created_at < before_s)
        .group_by(PROBE.c.testbed, PROBE.c.reason)
        .order_by(PROBE.c.testbed, PROBE.c.reason)
    )
    return [
        (testbed, ProbeReason(reason), number, float(oldest_s))
        for testbed, reason, number, oldest_s in conn.execute(query)
    ]


def unjudged_probes(conn: sa.Connection) -> list[ProbeRow]:
    """Ended probes of commits whose samples nobody compared yet, oldest first."""
    query = sa.select(PROBE).where(
        PROBE.c.state == ProbeState.DONE, ~PROBE.c.judged, PROBE.c.reason.in_(OF_COMMITS)
    )
    return fetch_all(conn, query.order_by(PROBE.c.id), ProbeRow)


def probes_of(
    conn: sa.Connection,
    image_ids: Collection[int],
    testbed: str | None = None,
    workload: str | None = None,
) -> list[ProbeRow]:
    """The probes of some images, of one testbed or workload if it is named, oldest first."""
    query = sa.select(PROBE).where(PROBE.c.image_id.in_(image_ids)).order_by(PROBE.c.id)
    if testbed is not None:
        query = query.where(PROBE.c.testbed == testbed)
    if workload is not None:
        query = query.where(PROBE.c.workload == workload)
    return fetch_all(conn, query, ProbeRow)


def troubles(
    conn: sa.Connection, testbed: str, since_s: float, limit: int | None = None
) -> list[ProbeRow]:
    """The requests that gave nothing through no fault of a kernel's after a time, newest first.

    They were given up; or builds of theirs ended before their jobs, and others are to follow.
    """
    at_s = sa.func.coalesce(PROBE.c.ended_at, PROBE.c.issued_at, PROBE.c.created_at)
    given_up = PROBE.c.failure_kind == FailureKind.INFRASTRUCTURE
    is_open = PROBE.c.state.in_(OPEN_PROBES)
    query = sa.select(PROBE).where(
        PROBE.c.testbed == testbed,
        PROBE.c.failure.is_not(None),
        sa.or_(given_up, is_open),
        at_s > since_s,
    )
    return fetch_all(conn, query.order_by(at_s.desc(), PROBE.c.id.desc()).limit(limit), ProbeRow)


def ensure_profile(conn: sa.Connection, /, *, key: str, now: float, **columns: Any) -> ProfileRow:
    """The request with that key, new if it was not known; a known one stays as it is."""
    new = {"tunables": "", **columns, "state": ProfileState.NEW, "created_at": now}
    return ensure(conn, ProfileRow, {"key": key}, new)


def add_capture(
    conn: sa.Connection,
    *,
    counter: str,
    folded: str,
    taken_at: float,
    packets: int = 0,
    places: Mapping[str, str] | None = None,
) -> CaptureRow:
    """Keep a capture's folded stacks and what is known beside them; the same ones are kept once."""
    text = folded.encode("utf-8", "surrogatepass")
    located = json.dumps(places, sort_keys=True).encode() if places else b""
    return ensure(
        conn,
        CaptureRow,
        {"digest": capture_digest(text, packets, located)},
        {
            "counter": counter,
            "taken_at": taken_at,
            "body": gzip.compress(text, mtime=0),
            "packets": packets,
            "places": gzip.compress(located, mtime=0) if located else None,
        },
    )


def capture_digest(stacks: bytes, packets: int, places: bytes) -> str:
    """Return the SHA-256 of folded stacks and of what is known beside them."""
    beside = b"\0%d\0%s" % (packets, places) if packets or places else b""
    return hashlib.sha256(stacks + beside).hexdigest()
