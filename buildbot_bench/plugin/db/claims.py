"""Queries on claims on testbeds, and on the share that each claimant had."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.sharing import PersonPriority, Served
from buildbot_bench.plugin.db.probes import payer
from buildbot_bench.plugin.db.schema import AB_TEST, IMAGE, PROBE, PROFILE, SEARCH, SHARE
from buildbot_bench.plugin.db.sql import fetch_all, insert_unless_known
from buildbot_bench.plugin.db.states import (
    OPEN_PROBES,
    OPEN_PROFILES,
    ImageState,
    ProbeReason,
    ProfileState,
    SearchReason,
)


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
