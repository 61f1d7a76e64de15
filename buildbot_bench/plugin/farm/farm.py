"""The parts that the whole plugin shares: the workflow, the tables, the mirror and the artefacts.

Names by which the plugin's parts know one another in Buildbot stand here, too, and how what fails
is tried again: a row, a job of the lab, a delivery. It decides nothing and asks for nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from twisted.application.internet import backoffPolicy
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.python import log

from buildbot_bench.core.errors import InfraError, NotYetError
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.history import Fit, MirrorHistory, Progress
from buildbot_bench.plugin.artefacts import Artefacts, Place, place_at
from buildbot_bench.plugin.db.rows import IterationRow, ProbeRow
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.workflow import Workflow

# git 2.39 never ends a commit-graph with a date beyond 64 bits and a grandchild of its commit, and
# whoever may push can write such a date.
GIT_CONFIG: Mapping[str, str] = MappingProxyType({"gc.writeCommitGraph": "false"})
# One who asks a farm that has just started waits this long for it to know its newest commits.
FIRST_LOOK_S = 30.0
# One who asks while the mirror is made is told after this how far it is, and asks again.
MOMENT_S = 2.0


class Mirroring:
    """One farm's mirror, from its first clone on."""

    def __init__(self, path: Path, url: str, *, branch: str, reactor: Any) -> None:
        self.history = MirrorHistory(path, url, branches=(branch,), on_progress=self._take_progress)
        self._reactor = reactor
        self._is_ready = self._has_looked = self._is_looking = False
        self._trouble: InfraError | None = None
        self._said = f"cloning {self.history.name}"
        self._waiting: list[Deferred[None]] = []

    def _take_progress(self, progress: Progress) -> None:
        # In a thread of the history's; all else here runs in the reactor's.
        self._said = str(progress)
        self._trouble = None

    def taken_as_it_is(self) -> None:
        """Let nobody wait: what is asked is asked of the mirror as it is now."""
        self._is_ready = self._has_looked = True
        self._tell()

    async def refresh(self) -> None:
        """Fetch, and read what is new of a long history; who comes meanwhile waits for the same.

        Raises InfraError when the repository cannot be had.
        """
        if self._is_looking:
            while self._is_looking:
                await self._news()
            return
        self._is_looking = True
        try:
            await self._look()
        except Exception as error:
            self._trouble = error if isinstance(error, InfraError) else InfraError(repr(error))
            raise
        else:
            self._is_ready, self._trouble = True, None
        finally:
            self._is_looking, self._has_looked = False, True
            self._tell()

    async def _look(self) -> None:
        if not self._is_ready and await deferToThread(lambda: self.history.is_there):
            # Who asks about what is known need not wait for what is new.
            with suppress(InfraError):
                await deferToThread(self.history.index)
                self._is_ready = True
                self._tell()
        await deferToThread(self.history.fetch)
        await deferToThread(self.history.index)

    async def ready(self) -> None:
        """Wait until questions can be answered, but not for long.

        After a start, what came since is waited for.

        Raises:
            NotYetError: The mirror is being made; it says how far it is.
            InfraError: The mirror cannot be made; it says why.
        """
        if not self._has_looked and not self._is_looking:
            # The broker looks, unless it runs on another master.
            Deferred.fromCoroutine(self.refresh()).addErrback(lambda _: None)
        began_s = self._reactor.seconds()
        while not (self._is_ready and self._has_looked) and not self._trouble:
            wait_s = FIRST_LOOK_S if self._is_ready else MOMENT_S
            left_s = began_s + wait_s - self._reactor.seconds()
            if left_s <= 0:
                break
            await self._news(left_s)
        if self._is_ready:
            return
        if self._trouble is not None:
            raise InfraError(
                f"there is no mirror of {self.history.name} yet: {self._trouble.message}",
                hint=self._trouble.hint
                or "mend `repository` in bench.yml, or what it names; the farm goes on trying",
            )
        raise NotYetError(self._said)

    def view(self) -> dict[str, str]:
        """What a page shows: whether it is `ready`, `begun` or in `trouble`, and how far."""
        if self._is_ready:
            return {"state": "ready", "text": ""}
        if self._trouble is not None:
            return {"state": "trouble", "text": str(self._trouble)}
        return {"state": "begun", "text": self._said}

    def _news(self, wait_s: float | None = None) -> Deferred[None]:
        """Fires at the next change of state, or when the time is up."""
        waiter: Deferred[None] = Deferred()
        self._waiting.append(waiter)
        if wait_s is not None:
            waiter.addTimeout(wait_s, self._reactor, onTimeoutCancel=lambda *_: None)
        return waiter

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(None)


SERVICE_NAME = "bench"
SPANS_KEPT = 16

T = TypeVar("T")


class Farm:
    """The shared parts of one farm; `farm_of(master)` finds it."""

    def __init__(self, *, workflow: Workflow, master: Any) -> None:
        self.master = master
        self.store = BenchStore(master.db.pool)
        self.artefacts = Artefacts(Path(master.basedir) / "artefacts", self._place)
        # What lies between two commits does not change; a search asks for it in every cycle.
        self.span = lru_cache(maxsize=SPANS_KEPT)(self._span)
        self._fits: dict[tuple[str, str], Fit] = {}
        self._mirrored = ("", "")
        self.use(workflow)

    def use(self, workflow: Workflow) -> None:
        """Go by this workflow from now on; whoever holds the farm need not be told."""
        self.span.cache_clear()
        self.workflow = workflow
        asked = (workflow.repository_url, self.branch)
        if self._mirrored != asked:
            path = Path(self.master.basedir) / "mirror.git"
            url, branch = self._mirrored = asked
            self.mirroring = Mirroring(path, url, branch=branch, reactor=self.master.reactor)
            self.history = self.mirroring.history

    @property
    def branch(self) -> str:
        """The branch whose commits are measured."""
        push = self.workflow.on.push
        return push.branches[0] if push else "main"

    def _span(self, old_sha: str, new_sha: str) -> RevisionRange:
        return self.history.range(self.history.resolve(old_sha), self.history.resolve(new_sha))

    def fits(self, fix_sha: str, shas: Sequence[str]) -> Mapping[str, Fit]:
        """Whether a commit's change is in some revisions, fits them, or does not; asked once."""
        unknown = [sha for sha in shas if (fix_sha, sha) not in self._fits]
        if unknown:
            found = self.history.fits(self.history.resolve(fix_sha), unknown)
            self._fits |= {(fix_sha, sha): fit for sha, fit in found.items()}
        return {sha: self._fits[fix_sha, sha] for sha in shas}

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

    def git(self, function: Callable[..., T], *args: Any) -> Deferred[T]:
        """Ask the history in a thread: it may have to read much."""
        return deferToThread(function, *args)

    def wake(self) -> None:
        """Let the broker run a cycle soon."""
        self.master.mq.produce((SERVICE_NAME, "broker", "wake"), {})


def bench_builder(testbed: str) -> str:
    """The builder whose builds measure on a testbed."""
    return f"bench/{testbed}"


def profile_builder(testbed: str) -> str:
    """The builder whose builds sample where the cycles go on a testbed."""
    return f"profile/{testbed}"


def farm_of(master: Any) -> Farm:
    """The farm of a master that is configured with BenchConfigurator."""
    farm: Farm = master.service_manager.namedServices[SERVICE_NAME].farm
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
            log.err(None, f"bench: {what} {row.id} failed; the next cycle tries again")


RETRY_FIRST_S = 60.0
RETRY_MOST_S = 3600.0

_policy = backoffPolicy(RETRY_FIRST_S, RETRY_MOST_S, factor=2.0, jitter=lambda: 0.0)


def wait_s(attempts: int) -> float:
    """Longer after each of so many attempts, at least one; never above an hour."""
    return float(_policy(attempts - 1))
