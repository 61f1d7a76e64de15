"""Puts back what a master had begun when it went; who is gone is decided by leases alone.

Buildbot's own housekeeping waits ten minutes, by the masters' clocks, and then leaves the claims on
requests where they are: it releases those of the master that cleans up.
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
                    "bench: master {masterid} is gone; its build requests {brids} go elsewhere",
                    masterid=masterid,
                    brids=brids,
                )
            finally:
                await store.drop_lease(name, token=token)


async def put_back(farm: Farm, masterid: int, *, token: str) -> list[int]:
    """End a master's builds, and release the requests that it claims; which they are.

    `token` holds the master's lease; LeaseLostError when that is lost: the master may be back.
    """
    data, store, name = farm.master.data, farm.unguarded, lease_of(masterid)
    known = await data.get(("masters", masterid))
    if known is None:
        return []
    if not known["active"]:
        # One who died over the same work left it so; Buildbot tidies up after an active one only.
        await data.updates.masterActive(name=known["name"], masterid=masterid)
    await store.hold_lease(name, token=token)
    await data.updates.masterStopped(name=known["name"], masterid=masterid)
    brids = await store.release_claims(masterid, name=name, token=token)
    if brids:
        await data.getResourceType("buildrequest").generateEvent(brids, "unclaimed")
    return brids
