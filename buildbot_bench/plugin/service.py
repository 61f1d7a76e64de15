"""The Buildbot service that holds the farm, begins what is due, and writes the structured log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

from buildbot.util.service import AsyncService, BuildbotService, ReconfigurableServiceMixin
from buildbot.util.twisted import async_to_deferred
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThread
from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    LogEvent,
    Logger,
    PredicateResult,
    formatEvent,
    globalLogPublisher,
)
from twisted.python.logfile import LogFile

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.condition import Hang
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import branch_in, repository_of
from buildbot_bench.core.triggers import parse_cron
from buildbot_bench.plugin.broker.removed import BeforeBuilders
from buildbot_bench.plugin.buildbot_fixes.hang_ups import outlive_hang_ups
from buildbot_bench.plugin.buildbot_fixes.heartbeat import beat_on
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from buildbot_bench.plugin.farm.histories import require_same_first
from buildbot_bench.plugin.masters import Membership, StandingWork, put_back_own
from buildbot_bench.plugin.operations.hangs import (
    Heartbeat,
    keep_hang,
    keep_ports,
    stacks_file,
    stacks_of,
)
from buildbot_bench.plugin.outbox.farm_mails import write_hang
from buildbot_bench.plugin.pages.histories import Histories
from buildbot_bench.plugin.private_files import make_private
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.rest.endpoints import register
from buildbot_bench.plugin.rest.searches import BenchIncident, ComparisonResource, Search, Testbed
from buildbot_bench.plugin.rest.views import BenchView
from buildbot_bench.process_environment import limit_loaded
from buildbot_bench.steady_timers import SteadyTimers
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.repositories import Schedule

_LOG = Logger()

# Whoever looks sooner after news than this waits for what has changed to be read.
READ_AHEAD_S = 10.0


def register_resources(master: Any) -> None:
    """Add to Buildbot's REST interface the parts of a farm, with or without its pages."""
    register(master, Search, BenchIncident, ComparisonResource, Testbed, BenchView)


class _Ports(ReconfigurableServiceMixin, AsyncService):
    """Writes down what the master listens on, whenever that may be another thing."""

    name = f"{SERVICE_NAME}-ports"

    @async_to_deferred
    async def reconfigServiceWithBuildbotConfig(self, new_config: Any) -> None:
        """Buildbot says so at each reconfiguration."""
        await deferToThread(keep_ports, Path(self.master.basedir), new_config)


class BenchService(BuildbotService):
    """Holds the farm; Buildbot configures services before schedulers.

    Where the pages are served, it has what they show of long histories read before they are opened.
    """

    name = SERVICE_NAME
    _farm: Farm | None = None
    _structured_log: StructuredLog | None = None
    _scheduled: ScheduledComparisons | None = None
    _reading: LoopingCall | None = None
    _timers: SteadyTimers | None = None
    _ended: Deferred[LoopingCall]
    _give_up_database: Callable[[], None] | None = None

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.histories = Histories()
        self._history_logged = False

    @property
    def farm(self) -> Farm | None:
        """The farm; None until Buildbot has configured its services."""
        return self._farm

    def checkConfig(self, *, workflow: Workflow) -> None:
        """Nothing beyond what the workflow has checked itself."""

    @async_to_deferred
    async def reconfigService(self, *, workflow: Workflow) -> None:
        """Open the tables and the mirror that the workflow names."""
        await super().reconfigService()
        if self._farm is None:
            limit_loaded()  # what master.cfg may have imported
            base = Path(self.master.basedir)
            # `buildbot create-master` made some of it for everybody to read.
            await deferToThread(make_private, base)
            self._structured_log = StructuredLog(base)
            self._structured_log.start()
            self._timers = SteadyTimers(self.master.reactor)
            self._timers.startService()
            hang = self._begin_heartbeat(base)
            self._give_up_database = outlive_hang_ups(self.master.db.pool.engine)
            beat_on(self.master.masterHeartbeatService)
            farm = Farm(workflow=workflow, master=self.master)
            await farm.store.upgrade()
            await require_same_first(self.master, farm.store, workflow)
            register_resources(self.master)
            self._farm = farm
            if self.master.config.mq["type"] == "wamp":
                members = Membership(farm)
                await members.join()
                await members.setServiceParent(self.master)
                own = members.own_store
            else:
                await put_back_own(farm)
                own = farm.unguarded
            await StandingWork(own).setServiceParent(self.master)
            if hang is not None:
                await write_hang(farm, hang)
            await BeforeBuilders(farm).setServiceParent(self.master)
            ports = _Ports()
            await ports.setServiceParent(self.master)
            await ports.reconfigServiceWithBuildbotConfig(self.master.config)
            self._scheduled = ScheduledComparisons(farm)
            self._reading = LoopingCall(self._look)
            self._reading.clock = self.master.reactor
            self._ended = self._reading.start(READ_AHEAD_S)
        else:
            if workflow != self._farm.workflow:  # else BeforeBuilders has seen to it
                self._farm.use(workflow)
            self._farm.wake()

    def _begin_heartbeat(self, base: Path) -> Hang | None:
        """Begin to beat; tell the log how the master before this one ended, if not in order."""
        if hang := keep_hang(base):
            _LOG.warn(
                "bench: the master before this one {what}\n{stacks}",
                what=hang.what,
                stacks=stacks_of(hang),
            )
        heartbeat = Heartbeat(self.master.reactor, stacks_file(base))
        heartbeat.begin()
        # Buildbot holds it until its start is over.
        self.master.initLock.run(heartbeat.ready)
        return hang

    @async_to_deferred
    async def stopService(self) -> None:
        """Let the read that goes on end: the tables are closed after us."""
        if self._give_up_database is not None:
            self._give_up_database()
        if self._timers is not None:
            self._timers.stopService()
        if self._reading is not None and self._reading.running:
            self._reading.stop()
            await self._ended
        if self._farm is not None:
            # Threads are waited for, and a clone may take an hour.
            self._farm.history.stop()
        if self._structured_log is not None:
            self._structured_log.stop()
        await super().stopService()

    @async_to_deferred
    async def _look(self) -> None:
        if self._scheduled is not None:
            try:
                await self._scheduled.advance()
            except Exception:  # noqa: BLE001 - a site that is away is asked again
                _LOG.failure("bench: a comparison of factors is not started; the next look tries")
        await self._read_ahead()

    async def _read_ahead(self) -> None:
        if self._farm is None or "bench" not in self.master.config.www.get("plugins", {}):
            return
        try:
            kept = await self.histories.ahead(self._farm)
        except Exception:  # noqa: BLE001 - whoever looks then waits; the next round tries again
            _LOG.failure("bench: History could not be read ahead")
            return
        if not self._history_logged:
            self._history_logged = True
            _LOG.info("bench: History is read ahead: {series} series", series=kept)


NAME = "bench.jsonl"
# As many and as long as twistd.log's files are by default.
MOST_BYTES, MOST_FILES = 10_000_000, 10
PRIVATE = 0o600
_OURS = "buildbot_bench."
_MOST_CHARACTERS = 8192


class StructuredLog:
    """Writes the structured log into a directory while it is started."""

    def __init__(self, directory: Path) -> None:
        self._file = LogFile(
            NAME,
            str(directory),
            rotateLength=MOST_BYTES,
            maxRotatedFiles=MOST_FILES,
            defaultMode=PRIVATE,
        )
        self._observer = FilteringLogObserver(
            FileLogObserver(self._file, as_line), [_is_ours], lambda _event: None
        )

    def start(self) -> None:
        """Write from now on."""
        globalLogPublisher.addObserver(self._observer)

    def stop(self) -> None:
        """Write no more."""
        globalLogPublisher.removeObserver(self._observer)
        self._file.close()


def _is_ours(event: LogEvent) -> Any:
    ours = str(event.get("log_namespace", "")).startswith(_OURS)
    return PredicateResult.yes if ours else PredicateResult.no


def as_line(event: LogEvent) -> str:
    """An event as one line of JSON; what is no text, number or truth value is written as text."""
    failure = event.get("log_failure")
    level = event.get("log_level")
    line = {
        "time": datetime.fromtimestamp(event["log_time"], tz=UTC).isoformat(),
        "level": level.name if level else "info",
        "module": str(event["log_namespace"]).removeprefix(_OURS),
        "message": _bounded(formatEvent(event)),
        **_fields(event),
    }
    if failure is not None:
        line["failure"] = _bounded(failure.getTraceback())
    return json.dumps(line) + "\n"


def _fields(event: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if _is_plain(value) else _bounded(str(value))
        for name, value in event.items()
        if not name.startswith("log_") and name not in _OF_TWISTED
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, bool | int | None) or (isinstance(value, float) and isfinite(value))


# What Twisted adds for observers of its older kind.
_OF_TWISTED = frozenset(
    ("message", "time", "system", "format", "isError", "failure", "why", "logLevel", "log_legacy")
)


def _bounded(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


REQUESTER = "bench.yml"


class ScheduledComparisons:
    """Starts the comparison of each `factors` of `on.schedule`, once for each time.

    Each master looks; the comparison's key keeps it from being started twice. As with fresh boots,
    a time that passed while no master ran is made up for once, and what is due while the last
    time's comparison goes on waits for its end.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._settled: set[str] = set()

    async def advance(self) -> None:
        """Start what is due by now."""
        for schedule in self._farm.workflow.on.schedule:
            if schedule.factors:
                await self._advance(schedule)

    async def _advance(self, schedule: Schedule) -> None:
        branch = schedule.branch or self._farm.workflow.branches[0]
        due_s = parse_cron(schedule.cron).last_due(self._farm.now())
        written = "\0".join([branch, schedule.cron, *schedule.variants()])
        which = f"schedule:{sha256(written.encode()).hexdigest()[:32]}:"
        key = f"{which}{due_s:.0f}"
        if key in self._settled or not await self._is_due(branch, due_s):
            return
        known = await self._farm.store.scheduled_ab_tests(REQUESTER, which)
        if any(one.key == key for one in known):
            self._settled.add(key)
        elif all(one.ended for one in known):
            await self._start(schedule, branch, key)

    async def _is_due(self, branch: str, due_s: float) -> bool:
        """Whether the farm knew the branch at that time."""
        first_seen_s = await self._farm.store.first_arrival(branch)
        return first_seen_s is not None and due_s >= first_seen_s

    async def _start(self, schedule: Schedule, branch: str, key: str) -> None:
        """Compare the combinations of one commit, also if another is pushed meanwhile."""
        tip = (await self._farm.store.newest_commits((branch,)))[branch]
        cells = schedule.variants(branch_in(repository_of(branch), tip.sha))
        try:
            begun = await ComparisonRequests(self._farm).start(
                ComparisonQuestion(variants=tuple(cells), labels=cells), REQUESTER, key=key
            )
        except UsageError as error:
            self._settled.add(key)
            _LOG.warn("bench: on.schedule: no comparison of factors: {reason}", reason=str(error))
        else:
            number = begun["comparisonid"]
            _LOG.info("bench: on.schedule: comparison {number} of factors begins", number=number)
