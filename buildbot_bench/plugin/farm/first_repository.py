"""The check that a bench.yml keeps its first repository.

Branches of the first repository are stored without a name in front. Another repository in its place
would pass for a rewritten branch, and the measurements of both would mix.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from buildbot.config import ConfigErrors

from buildbot_bench.core.branches import repository_of
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.workflow import WatchedRepository, Workflow

_STATE = ("bench", "FirstRepository")


@dataclass(frozen=True, kw_only=True, slots=True)
class First:
    """The first repository as bench.yml had it."""

    name: str
    url: str


def problem_of(first: WatchedRepository, before: First | None, others: Collection[str]) -> str:
    """Why a repository cannot be the first one; empty when it can.

    One with another name, or another URL, may be the same; one with both is not. `others` are the
    names by which the tables know those that were not the first.
    """
    if first.name and first.name in others:
        return f"the tables have {first.name} as one that is not the first: its rows bear that name"
    if before is None or before.name == first.name or before.url == first.url:
        return ""
    return (
        f"the first one was {before.name or before.url}: what was measured of it has no name in"
        f" front, and would be mixed with that of {first.name or first.url}"
    )


async def require_same_first(master: Any, store: BenchStore, workflow: Workflow) -> None:
    """See that the first repository is the one that it was, and remember it."""
    first, state = workflow.watches[0], master.db.state
    objectid = await state.getObjectId(*_STATE)
    kept = await state.getState(objectid, "first", None)
    before = First(**kept) if kept else None
    others = {repository_of(row.name) for row in await store.branches()}
    if problem := problem_of(first, before, others - {""}):
        told = (
            f"bench.yml: {first.name or first.url} cannot be the first repository: {problem}."
            " Keep the first one first; to measure it no more, take its job out of `needs`"
        )
        raise ConfigErrors([told])
    now = First(name=first.name, url=first.url)
    if now != before:
        await state.setState(objectid, "first", asdict(now))
