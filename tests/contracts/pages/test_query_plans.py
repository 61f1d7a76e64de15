"""Every query of the broker's cycle and of the pages finds an index, on each database."""

from __future__ import annotations

from buildbot_bench.plugin.broker.scheduler import Cycle
from tests.contracts.pages.named import RESOURCES, programs, targets
from tests.contracts.pages.plans import full_scans, recorded


async def test_no_cycle_and_no_page_reads_a_large_table_through(
    served, there, engine, farm, master
):
    site, cycle = await served(), Cycle(farm=farm, scheduler=master)
    known = there()
    with recorded(engine) as asked:
        for _ in range(2):
            await cycle.run()
        of_cycle = len(asked)
        for path in RESOURCES:
            for target in targets(path, known):
                await site.get(target)
        for target in programs(known):
            await site.get(target)
    assert min(of_cycle, len(asked) - of_cycle) > 40
    assert full_scans(engine, asked) == {}
