"""Limits on patches, comparisons and boots of people without the role `approve`."""

from __future__ import annotations

from buildbot_bench.api.states import AbTestState
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.figures import count
from buildbot_bench.core.limits import MIB, spoken
from buildbot_bench.plugin.db.rows import PatchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.items import item_of_farm
from buildbot_bench.plugin.queries.turns import boots_of_a_day

_OPEN = (AbTestState.AWAITING, AbTestState.RUNNING)


async def keep_patch(
    farm: Farm, *, body: bytes, origin: str, requester: str, trusted: bool
) -> PatchRow:
    """Keep a patch for a person."""
    limits = farm.workflow.untrusted
    most = None if trusted else int(limits.patch_mib * MIB)
    kept: PatchRow | None = await farm.store.add_patch(
        body=body, origin=origin, requester=requester, now=farm.now(), most_bytes=most
    )
    if kept is None:
        used = spoken(await farm.store.patch_bytes(requester))
        raise UsageError(
            f"{origin} has {spoken(len(body))}: the farm keeps {used} of your patches already, and"
            f" {spoken(most or 0)} are the most",
            hint="have somebody decide about your comparisons: what nobody approves is deleted"
            f" after {limits.keep_days} days",
        )
    return kept


async def refuse_one_too_many(farm: Farm, requester: str, *, trusted: bool) -> None:
    """Let a person who is not trusted have so many comparisons at a time and no more."""
    most = farm.workflow.untrusted.comparisons
    if trusted:
        return
    theirs = [one for one in await farm.store.ab_tests(_OPEN) if one.payer == requester]
    if len(theirs) >= most:
        raise UsageError(
            f"{len(theirs)} of your comparisons run or await approval, and {most} are the most",
            hint=f"wait for comparison {theirs[-1].id}, or cancel it",
        )


async def refuse_too_many_boots(farm: Farm, requester: str, boots: int, *, trusted: bool) -> None:
    """Let a person who is not trusted ask for what the boots of a day are enough for.

    `boots` is what the comparison asks for at first. What it takes besides, and what others of
    theirs take meanwhile, waits for another day.
    """
    most = farm.workflow.untrusted.boots_a_day
    if trusted:
        return
    had = (await boots_of_a_day(farm, [requester])).get(requester, 0)
    if had + boots <= most:
        return
    iteration = (await item_of_farm(farm)).iteration
    raise UsageError(
        f"it takes {count(boots, iteration)}: your comparisons had {had} within 24 hours, and"
        f" {most} are the most",
        hint="compare fewer variants or series, or have somebody with the role approve ask"
        if boots > most
        else f"ask again tomorrow, or for fewer {iteration}s",
    )
