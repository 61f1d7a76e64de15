"""The builds and runs of one campaign, each stored when it ends."""

import platform
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.core.legible import one_line, several_lines
from buildbot_bench.core.metric import Metric, RunTimes
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.local.builds import Workshop, first_line
from buildbot_bench.local.campaign import Campaign, LocalSearch, Measurer, Watcher
from buildbot_bench.local.known import ASSUMED_BUILD_S, Known, known_of
from buildbot_bench.local.store import NewRun, Store, StoredBuild, StoredRun

_LOG_CHARACTERS = 4000  # of a run that failed
_PATIENCE_S = 30.0  # for builds that are ended

Wanted = tuple[Revision, int]
"""A revision and the ordinal of one of its images."""
Begin = Callable[[], None]
Onlooker = Watcher[Any]


class Bench:
    """One campaign's builds and runs; `ahead` builds may go on beside a run."""

    def __init__(
        self,
        campaign: Campaign,
        store: Store,
        workshop: Workshop,
        measurer: Measurer,
        *,
        ahead: int = 0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.campaign = campaign
        self.store = store
        self._workshop = workshop
        self._measurer = measurer
        self._now = now
        self._began_s = now()
        self.id = store.campaign(campaign.digest, campaign.told, now=now())
        self._fruitless = 0
        timed = [one.times for one in self.iterations() if one.times and one.epoch == EPOCH]
        self._executions = timed[-1].executions if timed else 0
        self._ahead = ahead
        self._asked: queue.Queue[Wanted | None] = queue.Queue()
        self._ended: queue.Queue[tuple[str, int] | BenchError] = queue.Queue()
        self.building: set[tuple[str, int]] = set()
        # What they run ends with the process, however that does (lab.command.supervisor).
        self._threads = [threading.Thread(target=self._build_on, daemon=True) for _ in range(ahead)]
        for thread in self._threads:
            thread.start()

    def images(self) -> list[StoredBuild]:
        """All that was built by the campaign's recipe, by others too."""
        return [one for recipe in self.campaign.recipe.digests for one in self.store.images(recipe)]

    def iterations(self) -> list[StoredRun]:
        """All runs of the campaign."""
        return self.store.iterations(self.id)

    def known(self, search: LocalSearch) -> Known:
        """All that is known of the range of a search by now."""
        return known_of(
            search,
            self.images(),
            self.iterations(),
            is_there=self.has,
            assumed_build_s=self.assumed_build_s(),
        )

    def assumed_build_s(self) -> float:
        """Return what a build usually takes in this repository, in seconds, by any recipe."""
        return self.store.usual_build_s() or ASSUMED_BUILD_S

    def is_spent(self, budget_s: float | None) -> bool:
        """Return whether so many seconds are over since the command began."""
        return budget_s is not None and self._now() - self._began_s >= budget_s

    def notices(self) -> list[str]:
        """Return what a person should know of what was built since the last time."""
        waiting = self._workshop.notices
        return [waiting.get() for _ in range(waiting.qsize())]

    def has(self, image: StoredBuild) -> bool:
        """Whether the product of a build exists."""
        return self._workshop.has(image)

    def image(self, sha: str, ordinal: int) -> StoredBuild | None:
        """A build as it is known."""
        named = (sha, ordinal)
        return next((one for one in self.images() if (one.sha, one.ordinal) == named), None)

    def build(self, revision: Revision, ordinal: int) -> StoredBuild:
        """Build an image now, and wait for it."""
        return self._build(revision, ordinal, beside=False)

    def built(
        self, revision: Revision, ordinal: int, label: str, onlooker: Onlooker, begin: Begin
    ) -> StoredBuild:
        """An image, built if it is not there, which `begin` then shows first.

        Raises UntestableRevision: it cannot be built.
        """
        known = self.image(revision.sha, ordinal)
        if known is None or known.reason is not None or not self.has(known):
            begin()
            known = self.build(revision, ordinal)
            for said in self.notices():
                onlooker.notice(said)
        if known.reason is not None:
            raise UntestableRevision(f"{label} cannot be built: {known.reason}")
        return known

    def run(self, image: StoredBuild, label: str, onlooker: Onlooker) -> StoredRun:
        """Run a build once, as `measure` does; what came of it.

        Raises UntestableRevision: it cannot be measured.
        """
        self.measure(image, onlooker.notice)
        last = self.iterations()[-1]
        if last.kind is FailureKind.UNTESTABLE:
            said = f"{label} cannot be measured: {last.failure}\n{last.log}"
            raise UntestableRevision(said.rstrip())
        return last

    def build_ahead(self, wanted: Iterable[Wanted]) -> None:
        """Have builds made beside the runs, as many as were allowed; none is built twice."""
        for revision, ordinal in wanted:
            if len(self.building) >= self._ahead:
                return
            self._begin(revision, ordinal)

    def begin(self, revision: Revision, ordinal: int) -> bool:
        """Have a build made that is waited for; False when it has ended, as all have at once here.

        Raises InfraError: it cannot be built for the machine's fault.
        """
        if self._is_done(revision, ordinal):
            return False
        if self._ahead:
            self._begin(revision, ordinal)
            return True
        self._build(revision, ordinal, beside=False)
        return False

    def await_build(self, timeout_s: float | None = None) -> None:
        """Wait until some build has ended, or not longer than that.

        Raises InfraError: one could not be made for the machine's fault.
        """
        # A wait without an end is not interrupted by Ctrl-C everywhere.
        deadline_s = time.monotonic() + (timeout_s if timeout_s is not None else float("inf"))
        while True:
            try:
                ended = self._ended.get(timeout=min(0.5, max(0.0, deadline_s - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= deadline_s:
                    return
                continue
            if isinstance(ended, BenchError):
                raise ended
            self.building.discard(ended)
            return

    def harvest(self) -> None:
        """Take notice of the builds that have ended; fails as `await_build` does."""
        while not self._ended.empty():
            self.await_build(0.0)

    def measure(self, image: StoredBuild, tell: Callable[[str], None]) -> None:
        """Run a build once and store what came of it."""
        self._workshop.trim({image.id})
        began_s = time.monotonic()
        try:
            tree = self._workshop.unpacked(image)
            blast = self._measurer.measure(tree, tell, self._executions)
        except UntestableRevision as error:
            self._fruitless = 0
            self._put_failure(image, FailureKind.UNTESTABLE, error, began_s)
        except InfraError as error:
            self._fruitless += 1
            self._put_failure(image, FailureKind.INFRASTRUCTURE, error, began_s)
            if self._fruitless >= MAX_FRUITLESS:
                raise
            tell(f"{first_line(error.message)}; trying again")
        else:
            self._fruitless = 0
            unit, value = next(iter(blast.values.items()))
            self._executions = blast.times.executions if blast.times else 0
            self._put(
                image,
                began_s,
                unit=unit,
                value=value,
                facts=blast.facts,
                times=blast.times,
                named=blast.named,
            )

    def end(self) -> None:
        """End the builds that go on, and remove what they and the runs left."""
        with suppress(queue.Empty):
            while True:
                self._asked.get_nowait()
        for _ in self._threads:
            self._asked.put(None)
        self._workshop.end()
        for thread in self._threads:
            thread.join(_PATIENCE_S)
        self._workshop.clear()

    def _put_failure(
        self, image: StoredBuild, kind: FailureKind, error: BenchError, began_s: float
    ) -> None:
        log = several_lines(error.message.partition("\n")[2], most=_LOG_CHARACTERS)
        self._put(image, began_s, failure=first_line(error.message), kind=kind, log=log)

    def _put(
        self,
        image: StoredBuild,
        began_s: float,
        *,
        unit: str | None = None,
        value: float | None = None,
        failure: str | None = None,
        kind: FailureKind | None = None,
        log: str = "",
        facts: dict[str, str] | None = None,
        times: RunTimes | None = None,
        named: Mapping[Metric, float] | None = None,
    ) -> None:
        self.store.put_iteration(
            self.id,
            NewRun(
                image_id=image.id,
                unit=unit or self.campaign.workload.metric.unit,
                value=value,
                failure=failure,
                kind=kind,
                log=log,
                at_s=self._now(),
                duration_s=time.monotonic() - began_s,
                epoch=EPOCH,
                facts=facts or {},
                times=times,
                named=named or {},
            ),
        )

    def _is_done(self, revision: Revision, ordinal: int) -> bool:
        known = self.image(revision.sha, ordinal)
        return known is not None and (known.reason is not None or self.has(known))

    def _begin(self, revision: Revision, ordinal: int) -> None:
        named = revision.sha, ordinal
        if named not in self.building and not self._is_done(revision, ordinal):
            self.building.add(named)
            self._asked.put((revision, ordinal))

    def _build_on(self) -> None:
        while True:
            wanted = self._asked.get()
            if wanted is None:
                return
            revision, ordinal = wanted
            try:
                self._build(revision, ordinal, beside=True)
            except BenchError as error:
                self._ended.put(error)
            except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
                self._ended.put(InfraError(f"a build ended oddly: {one_line(repr(error))}"))
            else:
                self._ended.put((revision.sha, ordinal))

    def _build(self, revision: Revision, ordinal: int, *, beside: bool) -> StoredBuild:
        made = self._workshop.build(revision, ordinal, beside=beside)
        return self.store.put_image(made, now=self._now())


def _epoch() -> str:
    """The machine: what another one measured is not compared with what this one does."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        named = (line.partition(":")[2] for line in lines if line.startswith("model name"))
        cpu = next(named, cpu)
    except OSError:
        pass
    return one_line(f"{platform.node()}, {cpu.strip()}, {platform.system()}")


EPOCH = _epoch()
