"""The item that testbeds measure, a kernel or a command, by the facts of their boots."""

from __future__ import annotations

from buildbot_bench.core.item import ItemUnderTest, item_of, shared_item
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import SearchKind
from buildbot_bench.plugin.farm import Farm


async def item_on(farm: Farm, testbed: str) -> ItemUnderTest:
    """What a testbed measures; while nothing ended on it, what the farm's others do."""
    facts = await farm.store.facts_on(testbed)
    return item_of(facts) if facts else await item_of_farm(farm)


async def item_of_farm(farm: Farm) -> ItemUnderTest:
    """What is built for the testbeds of bench.yml, by those that measured."""
    told = [await farm.store.facts_on(testbed) for testbed in sorted(farm.workflow.testbeds)]
    return shared_item(item_of(facts) for facts in told if facts)


async def item_of_search(farm: Farm, search: SearchRow) -> ItemUnderTest:
    """What a search tries: what its testbed measures, or, of builds, what all testbeds do."""
    if search.kind is SearchKind.BUILD:
        return await item_of_farm(farm)
    return await item_on(farm, search.testbed)


async def item_of_comparison(farm: Farm, ab_test: AbTestRow) -> ItemUnderTest:
    """What the testbeds of a comparison measure: kernels unless all of them run commands."""
    testbeds = {testbed for testbed, _ in ab_test.series_names}
    return shared_item([await item_on(farm, testbed) for testbed in sorted(testbeds)])
