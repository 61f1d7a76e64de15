"""Queries on captures and on the requests for them; samples nothing and draws nothing."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from buildbot_bench.plugin.db.rows import CaptureRow, ProfileRow
from buildbot_bench.plugin.db.schema import CAPTURE, PROFILE
from buildbot_bench.plugin.db.sql import by_id, compare_and_swap, ensure, fetch, fetch_all
from buildbot_bench.plugin.db.states import ProfileState


def ensure_profile(
    conn: sa.Connection,
    *,
    key: str,
    token: str,
    image_id: int,
    testbed: str,
    workload: str,
    now: float,
    search_id: int | None = None,
    trial_id: int | None = None,
    tunables: str = "",
) -> ProfileRow:
    """The request with that key, new if it was not known; a known one stays as it is."""
    return ensure(
        conn,
        PROFILE,
        ProfileRow,
        {"key": key},
        {
            "token": token,
            "image_id": image_id,
            "testbed": testbed,
            "workload": workload,
            "search_id": search_id,
            "trial_id": trial_id,
            "tunables": tunables,
            "state": ProfileState.NEW,
            "created_at": now,
        },
    )


def profile(conn: sa.Connection, profile_id: int) -> ProfileRow | None:
    """The request with that id."""
    return by_id(conn, PROFILE, ProfileRow, profile_id)


def profiles(conn: sa.Connection, state: ProfileState | str) -> list[ProfileRow]:
    """The requests in a state, oldest first."""
    query = sa.select(PROFILE).where(PROFILE.c.state == state)
    return fetch_all(conn, query.order_by(PROFILE.c.id), ProfileRow)


def profiles_of_search(conn: sa.Connection, search_id: int) -> list[ProfileRow]:
    """The requests of a search, the old side's first."""
    query = sa.select(PROFILE).where(PROFILE.c.search_id == search_id)
    return fetch_all(conn, query.order_by(PROFILE.c.id), ProfileRow)


def profiles_of_trial(conn: sa.Connection, trial_id: int) -> list[ProfileRow]:
    """The requests of a trial: lane after lane, the base's first."""
    query = sa.select(PROFILE).where(PROFILE.c.trial_id == trial_id)
    return fetch_all(conn, query.order_by(PROFILE.c.id), ProfileRow)


def change_profile(conn: sa.Connection, /, row: ProfileRow, **columns: Any) -> ProfileRow | None:
    """The request with columns changed; None when another was quicker."""
    return compare_and_swap(conn, PROFILE, row, columns)


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
    beside = b"\0%d\0%s" % (packets, located) if packets or located else b""
    return ensure(
        conn,
        CAPTURE,
        CaptureRow,
        {"digest": hashlib.sha256(text + beside).hexdigest()},
        {
            "counter": counter,
            "taken_at": taken_at,
            "body": gzip.compress(text, mtime=0),
            "packets": packets,
            "places": gzip.compress(located, mtime=0) if located else None,
        },
    )


def capture(conn: sa.Connection, digest: str) -> CaptureRow | None:
    """The capture with that SHA-256 in hexadecimal."""
    return fetch(conn, sa.select(CAPTURE).where(CAPTURE.c.digest == digest), CaptureRow)
