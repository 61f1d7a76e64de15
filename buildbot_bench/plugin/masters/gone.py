"""The release of builds and claims that a dead master left, as its lease shows.

Buildbot's own housekeeping waits ten minutes, by the masters' clocks, and then leaves the claims on
requests in place: it releases those of the master that cleans up.
"""

from __future__ import annotations

from uuid import uuid4

from twisted.logger import Logger

from buildbot_bench.plugin.farm import Farm

_LOG = Logger()

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
