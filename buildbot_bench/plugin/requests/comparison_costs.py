"""The announcement of a new comparison's cost: boots, hours and images."""

from __future__ import annotations

from collections.abc import Mapping

from buildbot_bench.api.comparisons import ComparisonBegun, ExpectedCost
from buildbot_bench.api.texts import Nouns
from buildbot_bench.core.compare import BootLimits, expected_boots, title_of
from buildbot_bench.core.json_model import Json, to_json
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import testbed_of
from buildbot_bench.plugin.queries.compared_boots import SeriesName
from buildbot_bench.plugin.queries.compared_images import known_images
from buildbot_bench.plugin.queries.comparisons import ComparisonViews, variants_of
from buildbot_bench.plugin.queries.items import item_of_comparison


async def announced(farm: Farm, ab_test: AbTestRow, *, known: int) -> Json:
    """What a comparison takes of which there are `known` boots of each series."""
    variants = variants_of(ab_test)
    boots = len(variants) * ab_test.iterations
    missing = dict.fromkeys(ab_test.series_names, boots - known)
    begun = ComparisonBegun(
        comparisonid=ab_test.id,
        state=ab_test.state,
        title=title_of([variant.label for variant in variants]),
        variants=variants,
        series=tuple(ab_test.series_names),
        boots=boots * len(ab_test.series),
        hours=_hours(farm, missing),
        images=ab_test.images,
        nouns=Nouns(**(await item_of_comparison(farm, ab_test)).nouns),
        expected=await _expected(farm, ab_test) if ab_test.images > 1 else None,
    )
    return to_json(begun)


async def _expected(farm: Farm, ab_test: AbTestRow) -> ExpectedCost:
    views, known = ComparisonViews(farm), await known_images(farm, ab_test)
    limits = BootLimits(boots=ab_test.iterations, images=ab_test.images)
    of_each = {
        series: await calculate(
            expected_boots, await views.noise(series, known), limits, ab_test.min_effect
        )
        for series in ab_test.series_names
    }
    variants = len(ab_test.variants)
    boots = {series: variants * one.boots for series, one in of_each.items()}
    return ExpectedCost(
        effect=ab_test.min_effect,
        images=max(one.images for one in of_each.values()),
        boots=sum(boots.values()),
        hours=_hours(farm, boots),
    )


def _hours(farm: Farm, boots: Mapping[SeriesName, int]) -> float:
    """How long the busiest testbed boots and blasts; builds come before."""
    spent: dict[str, float] = {}
    for (name, _), number in boots.items():
        testbed = testbed_of(farm, name)
        spent[name] = spent.get(name, 0.0) + number * (testbed.boot_s + testbed.run_s)
    return max(spent.values()) / 3600
