"""The broker's cycle: events and timers that start it, its steps in order, boots at set times."""

from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any

from buildbot.config import error
from buildbot.schedulers.base import ReconfigurableBaseScheduler
from buildbot.util.twisted import async_to_deferred
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from buildbot_bench.core.errors import StoppedError
from buildbot_bench.core.triggers import parse_cron
from buildbot_bench.plugin.broker.ab_tests import AbTests
from buildbot_bench.plugin.broker.alarms import Recoveries
from buildbot_bench.plugin.broker.breakages import Breakages
from buildbot_bench.plugin.broker.captures import CaptureRequests
from buildbot_bench.plugin.broker.collect import Collector
from buildbot_bench.plugin.broker.commit_queue import CommitQueue, ask_commit
from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.broker.follow_ups import Improvements, Remeasuring
from buildbot_bench.plugin.broker.incidents import Incidents
from buildbot_bench.plugin.broker.issue import FetchesPrebuilt, Issuer
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.broker.quarantine import ControlImages, Workloads
from buildbot_bench.plugin.broker.removed import RemovedTestbeds, Superseded, UnapprovedPatches
from buildbot_bench.plugin.broker.retention import Retention, Statistics
from buildbot_bench.plugin.broker.searching import Forecasts, Searching, Stating
from buildbot_bench.plugin.db.columns import ProbeReason
from buildbot_bench.plugin.db.leases import LeaseLostError
from buildbot_bench.plugin.db.rows import CommitRow
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.series import Series, all_series
from buildbot_bench.plugin.masters import Membership, membership_of
from buildbot_bench.plugin.outbox.mail_outbox import MailOutbox
from buildbot_bench.plugin.outbox.notice_outbox import NoticeOutbox
from buildbot_bench.workflow.repositories import Schedule

_LOG = Logger()


class Cycle:
    """One pass over everything: what arrived, what ended, what follows, what to ask for next."""

    def __init__(self, *, farm: Farm, scheduler: Any, retry_s: float = 0.0) -> None:
        self.farm = farm
        self._commits = CommitWatch(farm)  # which runs beside cycles
        farm = farm.through(farm.store.remembering())
        self._store = farm.store
        issuer = Issuer(farm, scheduler, retry_s=retry_s)
        self._steady: tuple[tuple[str, Callable[[], Awaitable[None]]], ...] = (
            # Before all that asks the tables for much.
            ("analyse", Statistics(farm).advance),
            # Before all that would look a testbed up, or ask something of it.
            ("remove", RemovedTestbeds(farm).advance),
            ("collect", Collector(farm, scheduler.master).collect),
            # Before all that reads samples: those that came to be in doubt are none.
            ("control", ControlImages(farm).advance),
            # Before all that would take a kernel for untestable.
            ("work", Workloads(farm).advance),
            ("remeasure", Remeasuring(farm).advance),
            ("judge", Judging(farm).advance),
            ("search", Searching(farm).advance),
            ("fetch", FetchesPrebuilt(farm).advance),
            ("forecast", Forecasts(farm).advance),
            # Behind the searches and before all that tells of them: one number for one culprit.
            ("state", Stating(farm).advance),
            ("break", Breakages(farm).advance),
            ("recover", Recoveries(farm).advance),
            # Behind the searches: what they have found is confirmed at once, and before any mail.
            ("confirm", Incidents(farm).advance),
            ("compare", AbTests(farm).advance),
            # Before the queue: what a later push makes needless gives way to that push.
            ("supersede", Superseded(farm).advance),
            ("queue", CommitQueue(farm).advance),
            ("schedule", Schedules(farm).advance),
            # Behind all that asks for something: nothing else is to be wanted.
            ("improve", Improvements(farm).advance),
            # Before boots are issued: a testbed whose turn is a capture's is free for it.
            ("capture", CaptureRequests(farm, scheduler.master, issuer).advance),
            ("issue", issuer.issue),
            ("mail", MailOutbox(farm).advance),
            ("retain", Retention(farm).advance),
            ("expire", UnapprovedPatches(farm).advance),
            ("notify", NoticeOutbox(farm).advance),
        )

    def is_news(self, change: Mapping[str, Any]) -> bool:
        """Whether one of Buildbot's changes tells of a commit that did not come in lately."""
        return not self._commits.has_brought_in(change["branch"], change["revision"])

    async def fetch(self) -> None:
        """Bring in the commits that arrived; it may take long and run beside cycles."""
        await _guarded("fetch", self._commits.advance)

    async def run(self) -> None:
        """Run the cycle; a part that fails does not keep the others from their work."""
        began_s = perf_counter()
        self._store.look_again()
        try:
            for name, part in self._steady:
                await _guarded(name, part)
            self.farm.cycle_time.seconds = perf_counter() - began_s
        except LeaseLostError as lost:
            _LOG.warn("bench: a cycle of the broker ends: {reason}", reason=str(lost))
        finally:
            self._store.forget_unused()

    async def look(self) -> None:
        """Bring in what arrived for the pages of this master alone: another runs the broker."""
        await _guarded("look", self.farm.mirroring.refresh)


async def _guarded(name: str, part: Callable[[], Awaitable[None]]) -> None:
    try:
        await part()
    except LeaseLostError:
        raise
    except StoppedError as stopped:
        _LOG.info("bench: {reason}", reason=str(stopped))
    except Exception:  # noqa: BLE001 - a repository that is away must not stop the searches
        _LOG.failure(
            "bench: the part {part!r} of a cycle failed; the next cycle tries again", part=name
        )


# Events may be lost and come twice; the timer is what makes progress certain.
RECONCILE_S = 30.0
# Three builds that fail one after the other end what waits for them: an outage of two minutes of
# the repository is outlived by pauses of one and two.
_RETRY_CYCLES = 2


class BenchBroker(ReconfigurableBaseScheduler):
    """Runs cycles, on one master at a time.

    Of several masters it is active on each, and one of them is appointed by a lease that each
    change of a cycle's checks: Buildbot's claim on a scheduler outlives its master by ten minutes.
    A master that is alone goes by that claim.

    A cycle recomputes from the tables what is to be asked for. Two cycles never overlap here; that
    one may overlap with what is left of another master's is what the tables' versions and unique
    keys are for.
    """

    def checkConfig(self, *, reconcile_s: float = RECONCILE_S, **kwargs: Any) -> None:
        """Refuse a timer that never rings."""
        if reconcile_s <= 0:
            error(f"BenchBroker: reconcile_s must be positive, not {reconcile_s}")
        super().checkConfig(**kwargs)

    @async_to_deferred
    async def reconfigService(self, *, reconcile_s: float = RECONCILE_S, **kwargs: Any) -> None:
        """Take new settings; they hold from the next activation."""
        await super().reconfigService(**kwargs)
        self._reconcile_s = reconcile_s

    @async_to_deferred
    async def activate(self) -> None:
        """Run a first cycle and listen."""
        await super().activate()
        if not self.enabled:
            return
        self._appointed = self._members is None
        self._cycle = Cycle(
            farm=farm_of(self.master), scheduler=self, retry_s=_RETRY_CYCLES * self._reconcile_s
        )
        self._lock = DeferredLock()
        self._wanted = False
        self._looking = self._look_again = False
        mq = self.master.mq
        self._consumers = [
            await mq.startConsuming(self._hear_of_change, ("changes", None, "new")),
            await mq.startConsuming(self._wake, ("buildrequests", None, "complete")),
            await mq.startConsuming(self._wake, ("bench", None, None)),
        ]
        self._loop = LoopingCall(self._tick)
        self._loop.clock = self.master.reactor
        self._loop.start(self._reconcile_s)
        if self._members is not None:
            self._members.tell(self._appoint)

    @property
    def _members(self) -> Membership | None:
        return membership_of(self.master)

    def _appoint(self, farm: Farm | None) -> None:
        """Run cycles from now on, with this farm; None: no longer."""
        self._appointed = farm is not None
        if farm is not None:
            self._cycle = Cycle(farm=farm, scheduler=self)
            self._tick()
        else:
            farm_of(self.master).cycle_time.seconds = None

    @async_to_deferred
    async def _claimService(self) -> bool:
        return self._members is not None or await super()._claimService()

    @async_to_deferred
    async def _unclaimService(self) -> None:
        if self._members is None:
            await super()._unclaimService()

    @async_to_deferred
    async def deactivate(self) -> None:
        """Stop listening and let the cycle that runs end."""
        await super().deactivate()
        if not self.enabled:
            return
        for consumer in self._consumers:
            # Not waited for: a router whose connection is closed meanwhile does not answer.
            consumer.stopConsuming()
        if self._loop.running:
            self._loop.stop()
        self._wanted = False
        ended = Deferred.fromCoroutine(self._wind_up())
        self.master.db.run_db_task(ended)  # else its tables are closed under it
        await ended

    async def _wind_up(self) -> None:
        await self._lock.run(lambda: None)
        if self._members is not None:
            await self._members.resign()

    def _tick(self) -> None:
        self._look_for_commits()
        self._wake()

    def _hear_of_change(self, _key: Any, change: Mapping[str, Any]) -> None:
        """Look once for all commits of a push: Buildbot's poller tells of them one by one."""
        if self._cycle.is_news(change):
            self._look_for_commits()

    def _look_for_commits(self) -> None:
        """Fetch beside the cycles: a repository that answers slowly must not stop the lab."""
        if self._looking:
            self._look_again = True
            return
        self._looking, self._look_again = True, False
        look = self._cycle.fetch if self._appointed else self._cycle.look
        Deferred.fromCoroutine(look()).addBoth(self._looked)

    def _looked(self, _result: Any) -> None:
        self._looking = False
        if not self._loop.running:
            return
        self._wake()
        if self._look_again:
            self._look_for_commits()

    def _wake(self, *_event: Any) -> None:
        if not self._wanted:
            self._wanted = True
            self._lock.run(lambda: Deferred.fromCoroutine(self._run_cycle()))

    async def _run_cycle(self) -> None:
        if not self._wanted:
            return
        self._wanted = False
        if self._appointed:
            await self._cycle.run()


class Schedules:
    """Asks for fresh boots of a branch's tip on each series, once for each time of `on.schedule`.

    A time that passed while no master ran is made up for once; those before the farm saw the
    branch are not. What is due while the last time's boots still wait is not asked for.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._missing: set[str] = set()

    async def advance(self) -> None:
        """Ask for what is due by now."""
        for schedule in self._farm.workflow.on.schedule:
            if not schedule.factors:
                await self._advance(schedule)

    async def _advance(self, schedule: Schedule) -> None:
        store = self._farm.store
        branch = schedule.branch or self._farm.workflow.branches[0]
        tip = (await store.newest_commits((branch,))).get(branch)
        if tip is None:
            self._complain(branch)
            return
        due_s = parse_cron(schedule.cron).last_due(self._farm.now())
        first_seen_s = await store.first_arrival(branch)
        if first_seen_s is None or due_s < first_seen_s:
            return
        waiting = {
            probe.series
            for probe in await store.open_probes()
            if probe.reason is ProbeReason.SCHEDULE
        }
        for series in all_series(self._farm.workflow.bench_jobs):
            if series.measures(branch) and series.name not in waiting:
                await self._ask(tip, series, due_s)

    def _complain(self, branch: str) -> None:
        if branch not in self._missing:
            self._missing.add(branch)
            _LOG.warn("bench: on.schedule: nothing was seen of {branch} yet", branch=branch)

    async def _ask(self, tip: CommitRow, series: Series, due_s: float) -> None:
        """Ask once for a time, no matter what the tip is by then."""
        name = f"schedule:{tip.branch}:{series.testbed}:{series.workload}:{due_s:.0f}"
        if await self._farm.store.probe_by_key(name) is None:
            await ask_commit(self._farm, tip, series, reason=ProbeReason.SCHEDULE, name=name)
