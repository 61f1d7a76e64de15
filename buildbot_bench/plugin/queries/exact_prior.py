"""The prior of a search by figures that exact testbeds counted."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.exact_prior import exact_levels, exact_weights
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.plugin.db.finding_rows import NewSearch
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series, series_at

_ENDS = 2  # figures: one alone shows no move


async def weights_by_exact_figures(
    farm: Farm, search: NewSearch, span: RevisionRange, base: Sequence[float] | None = None
) -> tuple[float, ...] | None:
    """What an exact testbed counted of the search's workload, as prior weights over `base`.

    Gates come first, then all others that count it; None without base and without such a testbed.
    """
    gates = series_at(farm, search.testbed, search.workload).gates
    counting = [
        series.testbed
        for series in all_series(farm.workflow.bench_jobs)
        if series.workload == search.workload
        and series.testbed != search.testbed
        and series.measures(search.branch)
    ]
    old, new = span.old.position, span.new.position
    for testbed in dict.fromkeys((*gates, *counting)):
        samples = await farm.store.samples(
            testbed=testbed,
            workload=search.workload,
            first_position=old,
            last_position=new,
            branch=search.branch,
        )
        levels = {at - old: level for at, level in exact_levels(samples).items()}
        if len(levels) >= _ENDS:
            relevant = search.min_effect
            return await calculate(exact_weights, span.n, levels, relevant=relevant, base=base)
    return None if base is None else tuple(base)
