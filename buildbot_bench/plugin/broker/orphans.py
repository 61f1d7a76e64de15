"""Requests that a dead master still claims: Buildbot 4.3 forgets to release them."""

from __future__ import annotations

from typing import Any


async def request_has_ended(master: Any, brid: int | None) -> bool:
    """Whether nobody works on a build request any more; one that was never made has ended."""
    if brid is None:
        return True
    request = await master.data.get(("buildrequests", brid))
    if request is None or request["complete"]:
        return True
    await release_if_orphaned(master, request)
    return False


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
