"""Build requests that a dead master claims, given back to the others.

Buildbot 4.3 unclaims by the id of the master that tidies up, not of the one that died
(db/buildrequests.py, unclaimBuildRequests), and sends no event.
To be filed: "Requests of a master that died stay claimed until the same master starts again."
"""

from typing import Any


async def release_if_orphaned(master: Any, request: dict[str, Any]) -> None:
    """Give a request back when the master that claims it is gone for good.

    Buildbot's own housekeeping unclaims by the id of the master that cleans up, not of the one
    that died (db/buildrequests.py), and sends no event.
    """
    claimer = request["claimed_by_masterid"]
    if not request["claimed"] or claimer in (None, master.masterid):
        return
    owner = await master.data.get(("masters", claimer))
    if owner is None or owner["active"]:
        return
    brid = request["buildrequestid"]
    await master.db.buildrequests._unclaim_buildrequests_for_master([brid], claimer)  # noqa: SLF001
    await master.data.getResourceType("buildrequest").generateEvent([brid], "unclaimed")
