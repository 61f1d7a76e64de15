"""What a farm fetches elsewhere: mirrors of its repositories, and which kernels others built."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.python.failure import Failure

from buildbot_bench.archives.prebuilt import PrebuiltSource, which_are_there
from buildbot_bench.core.errors import InfraError, NotYetError, UntestableRevision
from buildbot_bench.core.revision import RevisionRange, name_in_repository
from buildbot_bench.history import MirrorHistory, Progress
from buildbot_bench.workflow.settings import PrebuiltKernels

_LOG = Logger()

# Who waits for all goes on after this without those that take longer, by a clone or a dead server.
PATIENCE_S = 20.0


class SideBySide:
    """Pieces of work by name, of each one at a time."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._going_on: set[str] = set()

    async def run(self, work: Mapping[str, Callable[[], Awaitable[None]]]) -> None:
        """Begin what does not go on already, and wait for it, but not for long.

        Of several that fail meanwhile the first is raised and the others are logged, as is one that
        fails later.
        """
        failures: list[Failure] = []
        waits = True

        def ended(result: Any, name: str) -> None:
            self._going_on.discard(name)
            if not isinstance(result, Failure):
                return
            if waits and not failures:
                failures.append(result)
            else:
                _LOG.failure("bench: {name} failed; it is tried again", result, name=name)

        begun = []
        for name, piece in work.items():
            if name not in self._going_on:
                self._going_on.add(name)
                begun.append(Deferred.fromCoroutine(_awaited(piece)).addBoth(ended, name))
        await self._all_of(begun)
        waits = False
        for failure in failures:
            failure.raiseException()

    async def _all_of(self, begun: list[Deferred[Any]]) -> None:
        waiter: Deferred[None] = Deferred()

        def done(_: Any) -> None:
            if not waiter.called:
                waiter.callback(None)

        DeferredList(begun).addCallback(done)
        waiter.addTimeout(PATIENCE_S, self._reactor, onTimeoutCancel=lambda *_: None)
        await waiter


async def _awaited(piece: Callable[[], Awaitable[None]]) -> None:
    await piece()


# One who asks a farm that has just started waits this long for it to know its newest commits.
FIRST_LOOK_S = 30.0
# One who asks while the mirror is made is told after this how far it is, and asks again.
MOMENT_S = 2.0


class Mirroring:
    """The mirror of a repository, from its first clone on; `name` is bench.yml's, if it has one."""

    def __init__(
        self, path: Path, url: str, *, branches: Sequence[str], reactor: Any, name: str = ""
    ) -> None:
        self.history = MirrorHistory(
            path,
            url,
            branches=branches,
            name=name or None,
            on_progress=self._take_progress,
            on_warning=lambda line: _LOG.warn("bench: {line}", line=line),
        )
        self._written = f"repositories.{name}.url" if name else "repository"
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

        Raises InfraError when the repository cannot be fetched.
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
                or f"fix `{self._written}` in bench.yml, or the repository; the farm tries again",
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


class Mirrorings:
    """The mirrors of a farm, by what the branches of their repositories have in front."""

    def __init__(self, by_repository: Mapping[str, Mirroring], reactor: Any) -> None:
        self._all = dict(by_repository)
        self._looks = SideBySide(reactor)

    def of(self, repository: str) -> Mirroring:
        """The mirror of a repository that is watched."""
        return self._all[repository]

    def taken_as_it_is(self) -> None:
        """Let nobody wait: what is asked is asked of the mirrors as they are now."""
        for one in self._all.values():
            one.taken_as_it_is()

    async def refresh(self) -> None:
        """Bring all up to date; one that cannot be fetched keeps none of the others back.

        Raises InfraError when a repository cannot be fetched.
        """
        if len(self._all) == 1:
            await self._all[""].refresh()
            return
        await self._looks.run({one.history.name: one.refresh for one in self._all.values()})

    async def ready(self, repository: str = "") -> None:
        """Wait, but not for long, until questions about a repository can be answered."""
        await self._all[repository].ready()

    def view(self) -> dict[str, str]:
        """What a page shows: of the first mirror that is not ready, if there is one."""
        views = [one.view() for one in self._all.values()]
        return next((one for one in views if one["state"] != "ready"), views[0])


# Revisions of a range that the source is asked for, evenly over it: a hundred seconds of questions.
MOST_ASKED = 2000
# After so long it is asked again: it may work then, or have what it had not.
AGAIN_S = 1800.0


class Prebuilt:
    """One source; nothing is known of it before a search looks."""

    def __init__(self) -> None:
        self._settings: PrebuiltKernels | None = None
        self._known: dict[str, dict[str, bool]] = {}
        self._looking: set[tuple[str, str, str]] = set()
        self._looked: dict[tuple[str, str, str], float] = {}

    def use(self, settings: PrebuiltKernels | None) -> None:
        """Go by bench.yml from now on."""
        if settings != self._settings:
            self._settings = settings
            self._known, self._looked = {}, {}

    @property
    def is_used(self) -> bool:
        """Whether bench.yml names a source."""
        return self._settings is not None

    def named(self) -> PrebuiltSource:
        """The source that bench.yml names; raises UntestableRevision where it names none."""
        asked = self._settings
        if asked is None:
            raise UntestableRevision("bench.yml names no artefacts.prebuilt any more")
        return PrebuiltSource(
            pattern=asked.pattern, checksum=asked.checksum or "", ident=asked.ident or ""
        )

    def known(self, branch: str) -> frozenset[str]:
        """The commits of a branch of which the source is known to have a kernel."""
        return frozenset(sha for sha, there in self._known.get(branch, {}).items() if there)

    def looked(self, branch: str, span: RevisionRange, *, then: Callable[[], object]) -> bool:
        """Whether the source was asked for a range; it is asked now, if not, and `then` called."""
        place = (branch, span.old.sha, span.new.sha)
        if not self.is_used:
            return True
        if place in self._looking:
            return False
        if time.monotonic() - self._looked.get(place, -AGAIN_S) < AGAIN_S:
            return True
        known = self._known.setdefault(branch, {})
        shas = [one.sha for one in span.revisions if not known.get(one.sha)]
        step = max(1, -(-len(shas) // MOST_ASKED))
        self._looking.add(place)
        asked = tuple({*shas[::step], *shas[-1:]})
        found = deferToThread(which_are_there, self.named(), asked, name_in_repository(branch))
        found.addCallback(lambda there: known.update({sha: sha in there for sha in asked}))
        found.addErrback(
            lambda failure: _LOG.warn(
                "bench: kernels are built that may be there: {why}", why=failure.getErrorMessage()
            )
        )
        found.addBoth(lambda _: self._end(place, then))
        return False

    def _end(self, place: tuple[str, str, str], then: Callable[[], object]) -> None:
        self._looking.discard(place)
        self._looked[place] = time.monotonic()
        then()
