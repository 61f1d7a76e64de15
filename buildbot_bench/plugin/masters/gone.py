"""Work that a dead master left, and work that this master began and does not do.

Buildbot 4.3 writes each end of a build, a step or a request down once. When the database fails at
that moment, nothing looks at it again before the master starts anew.

Buildbot's own housekeeping waits ten minutes, by the masters' clocks, and then leaves the claims on
requests in place: it releases those of the master that cleans up.
"""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from buildbot.data.resultspec import Filter
from buildbot.process.results import RETRY
from buildbot.util.service import AsyncService
from buildbot.util.twisted import async_to_deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from buildbot_bench.plugin.db.leases import BegunBuild, BegunRequest
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm

_LOG = Logger()

# Within two minutes all is given back: a build is in the tables before it is in hand, and out of
# hand before its end is in the tables, each for as long as the database takes for an answer.
LOOK_S, STANDS_S = 20.0, 60.0

_Key = tuple[str, int, int]


class StandingWork(AsyncService):
    """Looks every `look_s` for what stands still, and gives back what does for `stands_s`.

    Only what this master has begun, by the tables that `store` may change: what others began is
    theirs as long as they live. A time of `stands_s` without a look, as when the database or this
    process stood still, counts for nothing.
    """

    name = f"{SERVICE_NAME}-standing"

    def __init__(
        self, store: BenchStore, *, look_s: float = LOOK_S, stands_s: float = STANDS_S
    ) -> None:
        super().__init__()
        self._store = store
        self._look_s, self._stands_s = look_s, stands_s
        self._since: dict[_Key, float] = {}
        self._first = 0
        self._looked_at = 0.0
        self._looks = LoopingCall(self._look)

    def startService(self) -> Any:
        """Start the periodic looks."""
        self._looks.clock = self.master.reactor
        self._looked_at = self.master.reactor.seconds()
        self._ended = self._looks.start(self._look_s, now=False)
        return super().startService()

    @async_to_deferred
    async def stopService(self) -> None:
        """Stop the looks, after the one that is under way."""
        if self._looks.running:
            self._looks.stop()
            self.master.db.run_db_task(self._ended)  # else the tables are closed under it
            await self._ended
        super().stopService()

    @async_to_deferred
    async def _look(self) -> None:
        try:
            await self._give_back_what_stands()
        except Exception:  # noqa: BLE001 - the database fails: the next look asks it
            _LOG.failure("bench: what stands still could not be looked for; the next look tries")
        self._looked_at = self.master.reactor.seconds()

    async def _give_back_what_stands(self) -> None:
        builds, requests = self._in_hand()
        begun = await self._store.begun(self.master.masterid, first=self._first)
        self._first = begun.first
        more_builds, more_requests = self._in_hand()  # one may have begun meanwhile
        builds |= more_builds
        requests |= more_requests
        idle_builds = {("build", one.id, 0): one for one in begun.builds if one.id not in builds}
        idle_requests = {
            ("request", one.brid, one.claimed_at): one
            for one in begun.requests
            if one.brid not in requests
        }
        idle_buildsets = {("buildset", one, 0): one for one in begun.buildsets}
        due = self._due((*idle_builds, *idle_requests, *idle_buildsets))
        for key, build in idle_builds.items():
            if key in due:
                await self._end(build)
        for key, request in idle_requests.items():
            if key in due:
                await self._give_back(request)
        for key, buildset in idle_buildsets.items():
            if key in due:
                await self.master.data.updates.maybeBuildsetComplete(buildset)

    def _in_hand(self) -> tuple[set[int], set[int]]:
        """Return the ids of the builds and of the requests that this process works on."""
        builders = self.master.botmaster.builders.values()
        working = [build for builder in builders for build in builder.building]
        return (
            {build.buildid for build in working},
            {request.id for build in working for request in build.requests},
        )

    def _due(self, idle: Iterable[_Key]) -> set[_Key]:
        """Return the keys among `idle` that were idle at each look, for `stands_s`."""
        now_s = self.master.reactor.seconds()
        known = self._since if 0.0 <= now_s - self._looked_at < self._stands_s else {}
        self._since = {key: known.get(key, now_s) for key in idle}
        return {key for key, since_s in self._since.items() if now_s - since_s >= self._stands_s}

    async def _end(self, build: BegunBuild) -> None:
        """Write the end of a build down, and those of its steps, as one that is repeated."""
        await self._store.confirm()  # Buildbot's own tables do not ask who this master is
        data, updates = self.master.data, self.master.data.updates
        unended = [Filter("results", "eq", [None])]
        for step in await data.get(("builds", build.id, "steps"), filters=unended):
            incomplete = [Filter("complete", "eq", [False])]
            for log in await data.get(("steps", step["stepid"], "logs"), filters=incomplete):
                await updates.finishLog(logid=log["logid"])
            await updates.finishStep(stepid=step["stepid"], results=RETRY, hidden=False)
        if not build.ended:
            await updates.finishBuild(buildid=build.id, results=RETRY)
        _LOG.warn("bench: build {build} stood still; it is ended", build=build.id)

    async def _give_back(self, request: BegunRequest) -> None:
        """Complete a request whose build has ended, or let it be claimed again."""
        brid = request.brid
        if request.results not in (None, RETRY):
            await self._store.confirm()
            await self.master.data.updates.completeBuildRequests([brid], request.results)
            _LOG.warn("bench: request {request} stood still; it is completed", request=brid)
        elif await self._store.unclaim(self.master.masterid, [request]):
            requests = self.master.data.getResourceType("buildrequest")
            await requests.generateEvent([brid], "unclaimed")
            _LOG.warn("bench: request {request} stood still; it is given back", request=brid)


# As long as this another one leaves the work to who began it; it takes a second or two.
HOLD_S = 30.0


def lease_of(masterid: int) -> str:
    """The name of the lease by which a master shows that it lives."""
    return f"master:{masterid}"


async def put_back_of_all_gone(farm: Farm) -> None:
    """See to each master that has work and no lease of its own any more."""
    store, us = farm.unguarded, farm.master.masterid
    alive = {row.masterid for row in await store.leases() if row.name == lease_of(row.masterid)}
    for masterid in sorted(await store.busy_masters() - alive - {us}):
        token = uuid4().hex
        # While we hold it, the master that is gone does not come back.
        name = lease_of(masterid)
        if await store.take_lease(name, token=token, masterid=us, hold_s=HOLD_S):
            try:
                brids = await put_back(farm, masterid, token=token)
                _LOG.warn(
                    "bench: master {master} is gone; its build requests {brids} go elsewhere",
                    master=masterid,
                    brids=str(brids),
                )
            finally:
                await store.drop_lease(name, token=token)


async def put_back_own(farm: Farm) -> None:
    """Put back what this master, alone on its tables, had begun before it was started.

    Buildbot has done so by now, unless the database hung up meanwhile: then it ends that start, and
    takes the master for tidied up at the next one. What ran would never end. To be called before
    anything is configured that builds.
    """
    us = farm.master.masterid
    if us in await farm.unguarded.busy_masters():
        _LOG.warn("bench: a start before this one ended before it had put back what ran")
        await _stopped_again(farm, us)


async def _stopped_again(farm: Farm, masterid: int) -> bool:
    """Have Buildbot tidy up after a master; False when it does not know that one.

    It does so after an active one only, and one that died over the same work is not active.
    """
    updates = farm.master.data.updates
    known = await farm.master.data.get(("masters", masterid))
    if known is None:
        return False
    if not known["active"]:
        await updates.masterActive(name=known["name"], masterid=masterid)
    await updates.masterStopped(name=known["name"], masterid=masterid)
    return True


async def put_back(farm: Farm, masterid: int, *, token: str) -> list[int]:
    """End a master's builds, and release the requests that it claims; which they are.

    `token` holds the master's lease; LeaseLostError when that is lost: the master may be back.
    """
    store, name = farm.unguarded, lease_of(masterid)
    await store.hold_lease(name, token=token)
    if not await _stopped_again(farm, masterid):
        return []
    brids = await store.release_claims(masterid, name=name, token=token)
    if brids:
        await farm.master.data.getResourceType("buildrequest").generateEvent(brids, "unclaimed")
    return brids
