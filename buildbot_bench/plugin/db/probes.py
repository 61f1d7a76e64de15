"""Queries of requests to the lab, of captures, and of who claims the boots."""

import gzip
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.sharing import PersonPriority, Served
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.db.columns import (
    OPEN_PROBES,
    OPEN_PROFILES,
    ImageState,
    ProbeReason,
    ProfileState,
    SearchReason,
)
from buildbot_bench.plugin.db.rows import CaptureRow, ProbeRequest, ProbeRow, ProfileRow, SeriesName
from buildbot_bench.plugin.db.schema import AB_TEST, IMAGE, PROBE, PROFILE, SEARCH, SHARE
from buildbot_bench.plugin.db.sql import (
    ensure,
    fetch_all,
    insert_unless_known,
    of_series,
    row_by,
    values_of,
)

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
    conn: sa.Connection, image_ids: Collection[int], series: SeriesName
) -> list[ProbeRow]:
    """The probes of some images on a series, oldest first."""
    query = sa.select(PROBE).where(PROBE.c.image_id.in_(image_ids), *of_series(PROBE, series))
    return fetch_all(conn, query.order_by(PROBE.c.id), ProbeRow)


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


@dataclass(frozen=True, kw_only=True, slots=True)
class TestbedClaim:
    """What is asked of a testbed and may still bring something, its kernel, and who asked.

    What begins with `search_` is None unless it is of a search, with `ab_test_` unless it is of a
    comparison; `budget_of` is whose boots of a day these are, None where nobody is limited.
    """

    id: int
    testbed: str
    attempt: int
    image_state: ImageState
    search_id: int | None
    search_reason: SearchReason | None
    search_requester: str | None
    search_priority: PersonPriority | None
    ab_test_id: int | None
    ab_test_payer: str | None
    ab_test_priority: PersonPriority | None
    budget_of: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimRow(TestbedClaim):
    """A request for iterations."""

    workload: str
    iterations: int
    reason: ProbeReason
    priority: int
    state: ProbeState
    round: int
    brid: int | None
    image_id: int
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureClaimRow(TestbedClaim):
    """A request for a capture."""

    state: ProfileState


_WHO_ASKED = (
    SEARCH.c.reason.label("search_reason"),
    SEARCH.c.requester.label("search_requester"),
    SEARCH.c.priority.label("search_priority"),
    payer().label("ab_test_payer"),
    AB_TEST.c.priority.label("ab_test_priority"),
)
_OF_PROBE = (
    *("id", "testbed", "workload", "iterations", "reason", "priority", "state", "attempt"),
    *("round", "brid", "image_id", "search_id", "ab_test_id", "budget_of"),
)
_OF_PROFILE = ("id", "testbed", "state", "attempt", "search_id", "ab_test_id")


def claims(conn: sa.Connection) -> list[ClaimRow]:
    """All requests for iterations that may still bring something, the oldest first."""
    query = (
        sa.select(
            *(PROBE.c[name] for name in _OF_PROBE),
            IMAGE.c.label,
            IMAGE.c.state.label("image_state"),
            *_WHO_ASKED,
        )
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .outerjoin(SEARCH, SEARCH.c.id == PROBE.c.search_id)
        .outerjoin(AB_TEST, AB_TEST.c.id == PROBE.c.ab_test_id)
        .where(PROBE.c.state.in_(OPEN_PROBES))
    )
    return fetch_all(conn, query.order_by(PROBE.c.id), ClaimRow)


def capture_claims(conn: sa.Connection) -> list[CaptureClaimRow]:
    """All requests for captures that may still bring something, the oldest first."""
    query = (
        sa.select(
            *(PROFILE.c[name] for name in _OF_PROFILE),
            IMAGE.c.state.label("image_state"),
            *_WHO_ASKED,
            sa.case((AB_TEST.c.limited, payer())).label("budget_of"),
        )
        .join(IMAGE, IMAGE.c.id == PROFILE.c.image_id)
        .outerjoin(SEARCH, SEARCH.c.id == PROFILE.c.search_id)
        .outerjoin(AB_TEST, AB_TEST.c.id == PROFILE.c.ab_test_id)
        .where(PROFILE.c.state.in_(OPEN_PROFILES))
    )
    return fetch_all(conn, query.order_by(PROFILE.c.id), CaptureClaimRow)


def shares(conn: sa.Connection) -> dict[str, dict[str, Served]]:
    """By worker the last span of each claimant."""
    found: dict[str, dict[str, Served]] = {}
    for row in conn.execute(sa.select(SHARE)):
        span = Served(start=row.start, finish=row.finish)
        found.setdefault(row.worker, {})[row.claimant] = span
    return found


def keep_share(conn: sa.Connection, worker: str, claimant: str, span: Served) -> None:
    """Take down the last span of a claimant."""
    values = {"start": span.start, "finish": span.finish}
    if not insert_unless_known(conn, SHARE, {"worker": worker, "claimant": claimant, **values}):
        mine = sa.update(SHARE).where(SHARE.c.worker == worker, SHARE.c.claimant == claimant)
        conn.execute(mine.values(values))


def boots_since(conn: sa.Connection, since_s: float, people: Collection[str]) -> dict[str, int]:
    """By person the boots on their accounts that testbeds were given since a time."""
    query = (
        sa.select(PROBE.c.budget_of, sa.func.sum(PROBE.c.iterations))
        .where(PROBE.c.budget_of.in_(people), PROBE.c.issued_at > since_s)
        .group_by(PROBE.c.budget_of)
    )
    return {person: int(boots) for person, boots in conn.execute(query)}
