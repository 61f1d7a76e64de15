"""Checks of an extension of a comparison: more boots, images or variants."""

from __future__ import annotations

from buildbot_bench.api.requests import MOST_BOOTS, Extension
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow


def iterations_of(ab_test: AbTestRow, asked: Extension, item: ItemUnderTest) -> int:
    """How many boots of each there are to be."""
    boots = f"{item.iteration}s"
    wanted = (asked.iterations or ab_test.iterations) + asked.more
    if wanted < ab_test.iterations:
        raise UsageError(
            f"comparison {ab_test.id} has {ab_test.iterations} {boots} of each, not {wanted}",
            hint="nothing measured is thrown away: ask for as many or more",
        )
    if wanted > MOST_BOOTS:
        raise UsageError(
            f"{wanted} {boots} of each are too many: {MOST_BOOTS} are the most",
            hint=f"comparison {ab_test.id} has {ab_test.iterations}",
        )
    return wanted


def images_of(ab_test: AbTestRow, asked: Extension) -> int:
    """How many images of each there may be."""
    wanted = asked.images or ab_test.images
    known = 1 + max((one.number for one in ab_test.further), default=0)
    if wanted < known:
        raise UsageError(
            f"comparison {ab_test.id} has {known} images of a variant, not {wanted}",
            hint="nothing measured is thrown away: ask for as many or more",
        )
    return wanted
