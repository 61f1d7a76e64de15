"""The check that all boots of a comparison fall into one epoch of a testbed."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.compare import epoch_name, of_newest_epoch
from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.farm import Farm


async def refuse_other_epoch(farm: Farm, ab_test: AbTestRow, more: Sequence[str]) -> None:
    """Look whether the lab is still the one in which a comparison was measured.

    The lab's epoch is known from what it measured last. Where it changed since, the broker learns
    so from the first boot, and measures all variants again in the new epoch.
    """
    rows = await farm.store.iterations_of_ab_test(ab_test.id)
    for testbed in dict.fromkeys(testbed for testbed, _ in ab_test.series):
        own, _ = of_newest_epoch([r for r in rows if r.testbed == testbed and r.value is not None])
        now = await farm.store.newest_epoch(testbed)
        if own and now is not None and own[0].epoch != now:
            variants = " ".join([*(one.variant for one in ab_test.variants), *more])
            raise UsageError(
                f"comparison {ab_test.id} was measured in {epoch_name(own[0].epoch)} of {testbed},"
                f" which is in {epoch_name(now)} now: no comparison mixes epochs",
                hint=f"measure all of it again: `bench-compare {variants}`",
            )
