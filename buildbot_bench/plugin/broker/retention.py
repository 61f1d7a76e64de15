"""When built kernels are deleted, and which must not be: the core decides the rest."""

from __future__ import annotations

from dataclasses import dataclass

from buildbot_bench.core.retention import RetentionPolicy, Stored, expired
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import SearchState
from buildbot_bench.plugin.farm import Farm

LOOK_EVERY_S = 24 * 3600.0
# The lab does not wait for the deletion of thousands: the rest comes in the next cycles.
AT_ONCE = 50

_DAY_S, _GIB = 24 * 3600.0, 1024**3
_RUNNING = frozenset({SearchState.RUNNING, SearchState.CANCELLING})


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """All artefacts, and those of them that are to be deleted."""

    stored: tuple[Stored, ...]
    expired: tuple[Stored, ...]


class Retention:
    """Deletes in its first cycle and then daily.

    First the images' claims go, then the file, then its row: whoever dies in between leaves a row
    that nobody claims, with which the next one begins.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._next_look_s = 0.0

    async def advance(self) -> None:
        """Delete what has expired, some of it at a time."""
        if self._farm.now() < self._next_look_s:
            return
        found = await inventory(self._farm)
        for one in found.expired[:AT_ONCE]:
            await self._farm.store.release_artefact(one.digest)
            await self._farm.artefacts.delete(one.digest)
            await self._farm.store.forget_artefact(one.digest)
        if len(found.expired) <= AT_ONCE:
            self._next_look_s = self._farm.now() + LOOK_EVERY_S


async def inventory(farm: Farm) -> Inventory:
    """What lies there, and what bench.yml's policy would delete of it now."""
    asked = farm.workflow.artefacts.retention
    policy = RetentionPolicy(
        keep_s=None if asked.keep_days is None else asked.keep_days * _DAY_S,
        max_bytes=None if asked.max_gib is None else int(asked.max_gib * _GIB),
    )
    needed = await _needed(farm)
    claims = await farm.store.claimed_artefacts()
    digests = {claims[image] for image in needed if image in claims}
    stored = tuple(
        Stored(
            digest=row.digest,
            size=row.size,
            stored_at_s=row.stored_at,
            needed=row.digest in digests,
            claimed=row.digest in claims.values(),
        )
        for row in await farm.store.artefacts()
    )
    return Inventory(stored=stored, expired=expired(stored, policy, farm.now()))


async def _needed(farm: Farm) -> set[int]:
    """The images that somebody waits for, and those on which a report stands."""
    positions: set[int] = set()
    spans: list[tuple[int, int]] = []
    for search in await farm.store.searches():
        if search.state in _RUNNING:
            spans.append((search.old_position, search.new_position))
        positions |= _of_report(search)
    there = await farm.store.images_at(positions, spans)
    return there | await farm.store.needed_images()


def _of_report(search: SearchRow) -> set[int]:
    """The ends of a search and both sides of each step that it found."""
    sides = {side for step in search.steps for side in (step.old, step.new)}
    return {search.old_position, search.new_position} | {
        search.old_position + side for side in sides
    }
