"""The farm's shared parts: workflow, tables, mirror, artefacts, names and retry rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from twisted.application.internet import backoffPolicy
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.logger import Logger

from buildbot_bench.core.errors import NotYetError
from buildbot_bench.core.read_files import FileChange
from buildbot_bench.core.report.related import Kin
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.history import Fit, MirrorHistory, mirror_path
from buildbot_bench.plugin.artefacts.http import place_at
from buildbot_bench.plugin.artefacts.place import Artefacts, Place
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow
from buildbot_bench.plugin.db.sql import VersionedRow
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.farm.histories import FarmHistory
from buildbot_bench.plugin.farm.mirroring import Mirroring, Mirrorings, Prebuilt
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.repositories import Push, WatchedRepository

_LOG = Logger()

SERVICE_NAME = "bench"
SPANS_KEPT = 16
KIN_KEPT = 64
# What no page showed for so long is read again by the next one.
FORGET_S = 60.0
# Three years of FreeBSD's head; some ten files a commit.
CHANGES_KEPT = 10_000
MOST_CHANGES = 2000

T = TypeVar("T")


@dataclass
class CycleTime:
    """What the broker's last cycle took; None before the first, and where the broker is not."""

    seconds: float | None = None


class Farm:
    """The shared parts of one farm; `farm_of(master)` finds it."""

    def __init__(self, *, workflow: Workflow, master: Any) -> None:
        self.cycle_time = CycleTime()
        self.master = master
        self.store = self.unguarded = BenchStore(master.db.pool)
        self.newest_view: Farm | None = None
        self._read = self.store.remembering()
        self._forgot_s = 0.0
        self.artefacts = Artefacts(Path(master.basedir) / "artefacts", self._place)
        # What lies between two commits does not change; a search asks for it in every cycle.
        self.span = lru_cache(maxsize=SPANS_KEPT)(self._span)
        self.kin = lru_cache(maxsize=KIN_KEPT)(self._kin)
        self.prebuilt = Prebuilt()
        self._fits: dict[tuple[str, str], Fit] = {}
        self._changes: dict[str, tuple[FileChange, ...]] = {}
        self._watches: tuple[WatchedRepository, ...] = ()
        self._mirrors: dict[WatchedRepository, Mirroring] = {}
        self.use(workflow)

    def use(self, workflow: Workflow) -> None:
        """Go by this workflow from now on; holders of the farm need no notice."""
        self.span.cache_clear()
        self.workflow = workflow
        self.prebuilt.use(workflow.artefacts.prebuilt)
        if self._watches != workflow.watches:
            self._watches = workflow.watches
            self._watch()
        view = self.newest_view
        while view is not None:
            view.workflow = workflow
            view.mirroring, view.history = self.mirroring, self.history
            view = view.newest_view

    def _watch(self) -> None:
        """Have a mirror of each repository; one that is there stays as it is."""
        parts = {_mirrored_part(one): one for one in self._watches}
        for gone in self._mirrors.keys() - parts.keys():
            self._mirrors[gone].history.stop()
        self._mirrors = {
            part: self._mirrors.get(part) or self._mirroring(one) for part, one in parts.items()
        }
        by_key = {part.key: mirror for part, mirror in self._mirrors.items()}
        self.mirroring = Mirrorings(by_key, self.master.reactor)
        self.history = FarmHistory(
            {key: mirror.history for key, mirror in by_key.items()},
            {one.name: one.key for one in self._watches if one.name},
            self._former(by_key),
        )

    def _former(self, watched: Collection[str]) -> list[MirrorHistory]:
        """The mirrors of repositories that bench.yml has no more: what they measured stays."""
        base = Path(self.master.basedir)
        kept = sorted(mirror_path(base, "x").parent.glob("*.git"))
        gone = (path for path in kept if path.stem not in watched)
        return [MirrorHistory(path, str(path), branches=("**",)) for path in gone]

    def _mirroring(self, one: WatchedRepository) -> Mirroring:
        return Mirroring(
            mirror_path(Path(self.master.basedir), one.key),
            one.url,
            branches=one.push.branches,
            reactor=self.master.reactor,
            name=one.name,
        )

    def through(self, store: BenchStore) -> Farm:
        """This farm for one who changes rows through another store; the newest goes on with us.

        `unguarded` stays the store that everybody may write to.
        """
        view = copy(self)
        view.store, view.newest_view = store, None
        self.newest_view = view
        return view

    def as_of_now(self) -> Farm:
        """This farm for one who reads a page: what did not change since somebody read is known."""
        self._read.look_again()
        if not 0 <= self.now() - self._forgot_s < FORGET_S:
            self._read.forget_unused()
            self._forgot_s = self.now()
        view = copy(self)
        view.store = self._read
        return view

    def _kin(self, sha: str, branch: str, _hour: int) -> tuple[Kin, ...]:
        """The reverts and picks of a commit, asked for again each hour: new ones may come."""
        return self.history.kin(sha, branch)

    def _span(self, old_sha: str, new_sha: str) -> RevisionRange:
        return self.history.range(self.history.resolve(old_sha), self.history.resolve(new_sha))

    def fits(self, fix_sha: str, shas: Sequence[str]) -> Mapping[str, Fit]:
        """Whether a commit's change is in some revisions, fits them, or does not; asked once."""
        unknown = [sha for sha in shas if (fix_sha, sha) not in self._fits]
        if unknown:
            found = self.history.fits(self.history.resolve(fix_sha), unknown)
            self._fits |= {(fix_sha, sha): fit for sha, fit in found.items()}
        return {sha: self._fits[fix_sha, sha] for sha in shas}

    def file_changes(self, revisions: Sequence[Revision]) -> list[tuple[FileChange, ...]]:
        """What each of some revisions does to which files; git is asked once for each.

        One that changes more than MOST_CHANGES counts as one that changes what nobody can list.
        """
        unknown = [revision for revision in revisions if revision.sha not in self._changes]
        if len(self._changes) + len(unknown) > CHANGES_KEPT:
            self._changes, unknown = {}, list(revisions)
        known = self._changes
        asked = self.history.file_changes(unknown) if unknown else []
        for revision, found in zip(unknown, asked, strict=True):
            large = len(found) > MOST_CHANGES
            known[revision.sha] = (replace(found[0], edited=False),) if large else found
        return [known[revision.sha] for revision in revisions]

    def _place(self) -> Place | None:
        asked = self.workflow.artefacts
        secret = partial(self.secret, asked.token_secret)
        return place_at(asked.place, secret=secret, region=asked.region)

    async def secret(self, name: str | None) -> str | None:
        """What a Buildbot secret holds now; None when there is none, or none is named."""
        found = name and await self.master.namedServices["secrets"].get(name)
        return str(found.value) if found else None

    def now(self) -> float:
        """The master's clock, in seconds since the epoch."""
        return float(self.master.reactor.seconds())

    async def change(self, row: VersionedRow, **columns: Any) -> VersionedRow | None:
        """The row with columns changed, and when; None when another was quicker."""
        return await self.store.change(row, changed_at=self.now(), **columns)

    async def end(self, row: VersionedRow, state: StrEnum, **columns: Any) -> VersionedRow | None:
        """The row in a state that nothing follows, since now; None when another was quicker."""
        return await self.store.change(row, state=state, ended_at=self.now(), **columns)

    def git(self, function: Callable[..., T], *args: Any) -> Deferred[T]:
        """Ask the history in a thread: it may have to read much."""
        return deferToThread(function, *args)

    def wake(self) -> None:
        """Let the broker run a cycle soon."""
        self.master.mq.produce((SERVICE_NAME, "broker", "wake"), {})


def _mirrored_part(one: WatchedRepository) -> WatchedRepository:
    """Of a repository what its mirror is made by; which files count is asked later."""
    return replace(one, name="", written="", push=Push(branches=one.push.branches))


def bench_builder(testbed: str) -> str:
    """The builder whose builds measure on a testbed."""
    return f"bench/{testbed}"


def profile_builder(testbed: str) -> str:
    """The builder whose builds sample where the cycles go on a testbed."""
    return f"profile/{testbed}"


def farm_of(master: Any) -> Farm:
    """Return the farm of a master that is configured with BenchConfigurator."""
    service = master.service_manager.namedServices.get(SERVICE_NAME)
    farm: Farm | None = None if service is None else service.farm
    if farm is None:
        raise NotYetError("the farm is starting", hint="try again in some seconds")
    return farm


# Infrastructure that fails this often in a row wants a person.
MAX_ATTEMPTS = 3


def recorded_of(rows: Iterable[IterationRow]) -> int:
    """How many iterations some rows are of: each has a row for each of its units."""
    return len({row.ordinal for row in rows})


def may_have_another_job(probe: ProbeRow) -> bool:
    """Whether what the lab still owes may become a job of its own, when it gave this one up."""
    return probe.round + 1 < MAX_ATTEMPTS


def may_be_followed_again(probe: ProbeRow, recorded: int) -> bool:
    """Whether another build may attach to the job, when this one ended before it.

    Each iteration that was `recorded` makes up for one build: those in a row count that brought
    nothing.
    """
    return probe.attempt - probe.round + 1 < MAX_ATTEMPTS + recorded


class NumberedRow(Protocol):
    """A row of a table."""

    @property
    def id(self) -> int:
        """The row's primary key."""


Row = TypeVar("Row", bound=NumberedRow)


async def for_each(rows: Iterable[Row], work: Callable[[Row], Awaitable[None]], what: str) -> None:
    """Do the work for each row; what fails is logged, and comes again with the next cycle."""
    for row in rows:
        try:
            await work(row)
        except Exception:  # noqa: BLE001 - a broken row is one row's trouble
            _LOG.failure(
                "bench: {what} {row} failed; the next cycle tries again", what=what, row=row.id
            )


# When a browser or a program asks again: the header of an answer 503.
RETRY_AFTER = b"5"
RETRY_FIRST_S = 60.0
RETRY_MOST_S = 3600.0

_policy = backoffPolicy(RETRY_FIRST_S, RETRY_MOST_S, factor=2.0, jitter=lambda: 0.0)


def wait_s(attempts: int) -> float:
    """Longer after each of so many attempts, at least one; never above an hour."""
    return float(_policy(attempts - 1))
