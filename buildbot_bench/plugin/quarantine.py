"""How a quarantine ends, by whatever ends it, and what people may do about one."""

from __future__ import annotations

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.db.rows import QuarantineRow
from buildbot_bench.plugin.farm import Farm, bench_builder, profile_builder
from buildbot_bench.plugin.farm.series import bed_of


async def end_quarantine(
    farm: Farm, row: QuarantineRow, *, by: str, trusted: bool = False
) -> QuarantineRow | None:
    """Let the testbed work again; None when another was quicker.

    `trusted`: it was a false alarm, and what was measured meanwhile counts.
    """
    ended = await farm.store.change_quarantine(
        row, ended_at=farm.now(), ended_by=by, trusted=trusted
    )
    # What waits in Buildbot's queues was held there: nothing else would look at it again.
    for builder in _builders(farm, row.testbed):
        farm.master.botmaster.maybeStartBuildsForBuilder(builder)
    return ended


def _builders(farm: Farm, testbed: str) -> tuple[str, ...]:
    """The builder that measures on a testbed, and the one that takes captures if there is one."""
    sampled = bed_of(farm, testbed).profile_s is not None
    return (bench_builder(testbed), *((profile_builder(testbed),) if sampled else ()))


async def release(farm: Farm, testbed: str, *, by: str, false_alarm: bool) -> None:
    """End the quarantine of a testbed because a person says so; UsageError when there is none."""
    if testbed not in farm.workflow.testbeds:
        known = ", ".join(sorted(farm.workflow.testbeds))
        raise UsageError(f"there is no testbed {testbed!r}", hint=f"this farm has {known}")
    lasting = await farm.store.quarantines(testbed, open_only=True)
    if not lasting:
        raise UsageError(f"{testbed} is not in quarantine")
    for row in lasting:
        await end_quarantine(farm, row, by=by, trusted=false_alarm)
    farm.wake()
