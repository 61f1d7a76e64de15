"""Queries on trials, the comparisons that people ask for; decides nothing about a boot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from buildbot_bench.plugin.db.quarantines import in_doubt
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow, TrialRow
from buildbot_bench.plugin.db.schema import ITERATION, PROBE, TRIAL
from buildbot_bench.plugin.db.sql import by_id, compare_and_swap, fetch_all
from buildbot_bench.plugin.db.states import TrialState


def add_trial(
    conn: sa.Connection,
    *,
    base_image_id: int,
    base_tunables: str,
    base_label: str,
    new_image_id: int,
    new_tunables: str,
    new_label: str,
    lanes: Sequence[Sequence[str]],
    iterations: int,
    confidence: float,
    min_effect: float,
    requester: str,
    now: float,
    state: TrialState = TrialState.RUNNING,
) -> TrialRow:
    """Ask for a comparison of two variants; it runs from now on, or waits to be approved."""
    values = {
        "base_image_id": base_image_id,
        "base_tunables": base_tunables,
        "base_label": base_label,
        "new_image_id": new_image_id,
        "new_tunables": new_tunables,
        "new_label": new_label,
        "lanes": [list(lane) for lane in lanes],
        "iterations": iterations,
        "confidence": confidence,
        "min_effect": min_effect,
        "requester": requester,
        "state": state,
        "created_at": now,
    }
    added = conn.execute(sa.insert(TRIAL).values(**values).returning(*TRIAL.c))
    return TrialRow(**added.mappings().one())


def trial(conn: sa.Connection, trial_id: int) -> TrialRow | None:
    """The trial with that id."""
    return by_id(conn, TRIAL, TrialRow, trial_id)


def trials(
    conn: sa.Connection,
    states: Collection[TrialState | str] | None = None,
    limit: int | None = None,
) -> list[TrialRow]:
    """The trials in certain states, or all; newest first."""
    query = sa.select(TRIAL).order_by(TRIAL.c.id.desc()).limit(limit)
    if states is not None:
        query = query.where(TRIAL.c.state.in_(states))
    return fetch_all(conn, query, TrialRow)


def change_trial(conn: sa.Connection, /, row: TrialRow, **columns: Any) -> TrialRow | None:
    """The trial with columns changed; None when another was quicker."""
    return compare_and_swap(conn, TRIAL, row, columns)


def probes_of_trial(conn: sa.Connection, trial_id: int) -> list[ProbeRow]:
    """All probes of a trial, in the order in which they were asked for."""
    query = sa.select(PROBE).where(PROBE.c.trial_id == trial_id).order_by(PROBE.c.id)
    return fetch_all(conn, query, ProbeRow)


def iterations_of_trial(conn: sa.Connection, trial_id: int) -> list[IterationRow]:
    """What a trial asked for and can believe, in the primary units, in the order measured."""
    query = (
        sa.select(ITERATION)
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .where(PROBE.c.trial_id == trial_id, ITERATION.c.is_primary, ~in_doubt())
        .order_by(ITERATION.c.at_s, ITERATION.c.id)
    )
    return fetch_all(conn, query, IterationRow)
