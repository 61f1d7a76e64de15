"""The deletion of built kernels and boot logs: the choice, and the kernels that must be kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench.core.revision import repository_of
from buildbot_bench.plugin.db.columns import OPEN_SEARCHES
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import known_branches
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS

# What was built so lately is about to be booted, whoever it is for.
LEAST_AGE_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """One artefact. `needed`: somebody waits for it, or a report stands on it.

    `claimed`: an image says that it is there; else a master left it that died in the midst.
    """

    digest: str
    size: int
    stored_at_s: float
    needed: bool
    claimed: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionPolicy:
    """How old artefacts may become, in seconds, and how much all of them may take, in bytes."""

    keep_s: float | None = None
    max_bytes: int | None = None


def expired(stored: Sequence[Stored], policy: RetentionPolicy, now_s: float) -> tuple[Stored, ...]:
    """What is to be deleted, oldest first: what is too old, then as much as there is too much.

    What is needed, or younger than LEAST_AGE_S, stays however old or large.
    """
    left = sum(one.size for one in stored)
    chosen: list[Stored] = []
    for one in sorted(stored, key=lambda one: (one.stored_at_s, one.digest)):
        age_s = now_s - one.stored_at_s
        if one.needed or age_s < LEAST_AGE_S:
            continue
        is_old = policy.keep_s is not None and age_s > policy.keep_s
        is_much = policy.max_bytes is not None and left > policy.max_bytes
        if is_old or is_much or not one.claimed:
            chosen.append(one)
            left -= one.size
    return tuple(chosen)


LOOK_EVERY_S = 24 * 3600.0
# The lab does not wait for the deletion of thousands: the rest comes in the next cycles.
AT_ONCE = 50
LOGS_AT_ONCE = 500

_DAY_S, _GIB = 24 * 3600.0, 1024**3


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """All artefacts, and those of them that are to be deleted."""

    stored: tuple[Stored, ...]
    expired: tuple[Stored, ...]


class Retention:
    """Deletes in its first cycle and then daily.

    First the images' claims go, then the file, then its row: a death in between leaves a row
    that nobody claims, with which the next one begins.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._next_look_s = 0.0

    async def advance(self) -> None:
        """Delete what has expired, some of it at a time."""
        if self._farm.now() < self._next_look_s:
            return
        self._farm.store.look_again()
        found = await inventory(self._farm)
        for one in found.expired[:AT_ONCE]:
            await self._farm.store.release_artefact(one.digest)
            await self._farm.artefacts.delete(one.digest)
            await self._farm.store.forget_artefact(one.digest)
        lists = await self._old_lists()
        if lists:
            await self._farm.store.forget_read_files(lists[:AT_ONCE])
        logs = await self._old_logs()
        if logs:
            await self._farm.store.delete_logs(logs[:LOGS_AT_ONCE])
        if max(len(found.expired), len(lists)) <= AT_ONCE and len(logs) <= LOGS_AT_ONCE:
            self._next_look_s = self._farm.now() + LOOK_EVERY_S

    async def _old_logs(self) -> list[int]:
        """The boots whose logs are too old and stand behind no report, oldest first."""
        days = self._farm.workflow.artefacts.retention.logs_days
        if days is None:
            return []
        found = await self._farm.store.old_logs(self._farm.now() - days * _DAY_S)
        if not found:
            return []
        wanted = await _wanted(self._farm)
        needed = wanted.among(await self._farm.store.built_places())
        return [iteration for iteration, image in found if image not in needed]

    async def _old_lists(self) -> list[int]:
        """The images whose lists of read files nobody needs any more, oldest first."""
        farm, keep_days = self._farm, self._farm.workflow.artefacts.retention.keep_days
        before = 0.0 if keep_days is None else farm.now() - keep_days * _DAY_S
        places = await farm.store.lists_without_kernel(before)
        if not places:
            return []
        wanted = await _wanted(farm)
        for branch in await known_branches(farm):
            if tip := await farm.store.newest_commit(branch):
                span = (tip.position - WINDOW_COMMITS, tip.position)
                wanted.spans.append((repository_of(branch), *span))
        needed = await farm.store.needed_images()
        return sorted(
            image
            for image, place in places.items()
            if image not in needed and not wanted.holds(*place)
        )


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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """The positions, and the spans of them, that searches need and reports stand on.

    Each is of a repository.
    """

    positions: set[tuple[str, int]]
    spans: list[tuple[str, int, int]]

    def holds(self, repository: str, position: int) -> bool:
        return (repository, position) in self.positions or any(
            of == repository and first <= position <= last for of, first, last in self.spans
        )

    def among(self, places: Mapping[int, tuple[str, int]]) -> set[int]:
        """The images that lie there, of some with their places."""
        return {image for image, place in places.items() if self.holds(*place)}


async def _wanted(farm: Farm) -> _Wanted:
    positions: set[tuple[str, int]] = set()
    spans: list[tuple[str, int, int]] = []
    for search in await farm.store.searches():
        of = search.repository
        if search.state in OPEN_SEARCHES:
            spans.append((of, search.old_position, search.new_position))
        positions |= {(of, position) for position in _of_report(search)}
    return _Wanted(positions=positions, spans=spans)


async def _needed(farm: Farm) -> set[int]:
    """The images that somebody waits for, and those on which a report stands."""
    wanted = await _wanted(farm)
    there = wanted.among(await farm.store.built_places())
    return there | await farm.store.needed_images()


def _of_report(search: SearchRow) -> set[int]:
    """The ends of a search and both sides of each step that it found."""
    sides = {side for step in search.steps for side in (step.old, step.new)}
    return {search.old_position, search.new_position} | {
        search.old_position + side for side in sides
    }


EVERY_S = 24 * 3600.0


class Statistics:
    """Has it learn in the first cycle and then daily."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._next_s = 0.0

    async def advance(self) -> None:
        """Let it learn if it is time."""
        if self._farm.now() >= self._next_s:
            await self._farm.store.analyse()
            self._next_s = self._farm.now() + EVERY_S
