"""The part of a Buildbot master that the broker uses: requests, claims, a clock, events.

Time stands still until a test advances `reactor`; requests to the builders are recorded in
`requests` and never start.
"""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from buildbot.process.properties import Properties
from twisted.internet.task import Clock

from buildbot_bench.plugin.db.pooled import Pool
from buildbot_bench.plugin.farm import SERVICE_NAME, bench_builder, profile_builder

NOW_S = 1_800_000_000.0
US = 1


@dataclass(kw_only=True)
class Request:
    """One build request, as the broker asked for it and as Buildbot tells of it."""

    brid: int
    name: str
    builder: str
    revision: str
    reason: str
    priority: int
    properties: dict[str, Any]
    complete: bool = False
    claimed_by: int | None = None

    def as_data(self) -> dict[str, Any]:
        return {
            "buildrequestid": self.brid,
            "buildsetid": self.brid,
            "builderid": self.builder,
            "complete": self.complete,
            "claimed": self.claimed_by is not None,
            "claimed_by_masterid": self.claimed_by,
        }


@dataclass
class FakeData:
    """Buildbot's data connector, as far as it knows of requests and masters."""

    requests: list[Request]
    masters: dict[int, bool] = field(default_factory=lambda: {US: True})
    cancelled: list[int] = field(default_factory=list)
    events: list[tuple[int, str]] = field(default_factory=list)
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def get(self, path: tuple[Any, ...], filters: Any = ()) -> Any:
        match path:
            case ("buildrequests", brid):
                return next((r.as_data() for r in self.requests if r.brid == int(brid)), None)
            case ("masters", number):
                active = self.masters.get(number)
                return None if active is None else {"masterid": number, "active": active}
            case ("masters",):
                return [
                    {"masterid": number, "name": f"master {number}", "active": active}
                    for number, active in self.masters.items()
                ]
            case ("workers", str(name)):
                return self.workers.get(name)
            case ("buildrequests",):
                rows = [request.as_data() for request in self.requests]
            case ("buildsets",):
                rows = [{"bsid": r.brid, "external_idstring": r.name} for r in self.requests]
            case _:
                raise AssertionError(f"nobody should ask for {path}")
        for one in filters:
            rows = list(one.apply(rows))
        return rows

    async def control(self, action: str, _args: dict[str, Any], path: tuple[str, ...]) -> None:
        assert (action, path[0]) == ("cancel", "buildrequests")
        self.cancelled.append(int(path[1]))

    def getResourceType(self, name: str) -> Any:  # noqa: N802 - Buildbot's name
        assert name == "buildrequest"
        return self

    async def generateEvent(self, brids: list[int], event: str) -> None:  # noqa: N802 - Buildbot's
        self.events.extend((brid, event) for brid in brids)


class FakeMaster:
    """The master and its scheduler in one: both only take questions and orders."""

    masterid = US

    def __init__(self, *, basedir: Path, pool: Pool) -> None:
        self.basedir = str(basedir)
        self.workers = SimpleNamespace(workers={})
        self.reactor = Clock()
        self.reactor.advance(NOW_S)
        self.requests: list[Request] = []
        self.data = FakeData(self.requests)
        self.db = SimpleNamespace(pool=pool, buildrequests=self)
        self.mq = self
        self.produced: list[tuple[str, ...]] = []
        self.config = SimpleNamespace(buildbotURL="http://farm.example.org/")
        self.secrets: dict[str, str] = {}
        self.namedServices = {"secrets": self}
        self.service_manager = SimpleNamespace(namedServices={})
        self.master = self
        self.botmaster = self
        self.poked: list[str] = []

    def maybeStartBuildsForBuilder(self, name: str) -> None:  # noqa: N802 - Buildbot's name
        """Look at a builder's queue, as the botmaster would."""
        self.poked.append(name)

    def produce(self, key: tuple[str, ...], _message: object) -> None:
        """Take an event for the message queue."""
        self.produced.append(key)

    async def get(self, name: str) -> SimpleNamespace | None:
        """The secret of that name, as Buildbot's secret manager gives it."""
        value = self.secrets.get(name)
        return None if value is None else SimpleNamespace(value=value)

    @property
    def builderNames(self) -> list[str]:  # noqa: N802 - Buildbot's name
        """The builders that the farm's bench.yml makes."""
        workflow = self.service_manager.namedServices[SERVICE_NAME].farm.workflow
        testbeds = [
            name(testbed)
            for testbed in workflow.testbeds
            for name in (bench_builder, profile_builder)
        ]
        return [workflow.build_job.name, *testbeds]

    async def addBuildsetForSourceStamps(  # noqa: N802 - Buildbot's name
        self,
        *,
        sourcestamps: list[dict[str, Any]],
        reason: str,
        external_idstring: str,
        builderNames: list[str],  # noqa: N803 - Buildbot's name
        properties: Properties,
        priority: int,
    ) -> tuple[int, dict[int, int]]:
        """Write a request down, as the scheduler would hand it to the builder."""
        brid = 500 + len(self.requests)
        self.requests.append(
            Request(
                brid=brid,
                name=external_idstring,
                builder=builderNames[0],
                revision=sourcestamps[0]["revision"],
                reason=reason,
                priority=priority,
                properties={name: value for name, value, _source in properties.asList()},
            )
        )
        return brid, {7: brid}

    async def _unclaim_buildrequests_for_master(self, brids: list[int], owner: int) -> None:
        for request in self.requests:
            if request.brid in brids and request.claimed_by == owner:
                request.claimed_by = None

    def complete(self, brid: int | None) -> None:
        """Let a request end, however: what it gave stands in the tables."""
        (request,) = [one for one in self.requests if one.brid == brid]
        request.complete = True
