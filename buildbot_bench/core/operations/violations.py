"""Violations of invariants, and the reason why an issued row has no build that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.core.operations.records import BuildRequest, Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """What does not hold: the `row` that contradicts, how it does, and the `next` thing to do."""

    check: str
    row: str
    problem: str
    next: str


def not_run(
    brid: int | None,
    requests: Mapping[int, BuildRequest],
    since_s: float | None,
    moment: Moment,
) -> str:
    """Why nothing works on an issued row any more; empty when something may."""
    request = None if brid is None else requests.get(brid)
    if request is None:
        asked = "it names no build request" if brid is None else f"build request {brid} is unknown"
        return asked if moment.is_overdue(since_s) else ""
    if request.complete_at_s is not None and moment.is_overdue(request.complete_at_s):
        return f"its build request {request.id} has ended"
    return ""
