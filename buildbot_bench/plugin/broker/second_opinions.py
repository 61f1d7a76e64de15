"""The second opinion: which other testbeds are to boot both sides of an alarm's culprit."""

from buildbot_bench.api.states import SearchState
from buildbot_bench.core.sample import Metric
from buildbot_bench.core.search import Step
from buildbot_bench.core.shared_fields import shared
from buildbot_bench.plugin.broker.alarms import worst_step
from buildbot_bench.plugin.db.finding_rows import NewIncidentSeries, RaisedAlarm, SearchRow
from buildbot_bench.plugin.db.states import SearchReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import all_series, by_load, series_at
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.queries.incidents import MOST_WAIT_S, others_of


async def ask_second_opinion(farm: Farm, search: SearchRow) -> None:
    """Have other testbeds join the incident of a search that found what an alarm saw.

    Boots there confirm or deny the step as that of any series of an incident. Nothing is asked
    where bench.yml does not want it, another testbed has joined already, the search is a person's
    or of an improvement, or it ended so long ago that its mail is out.
    """
    step = worst_step(search)
    wanted = farm.workflow.regression.second_opinion
    is_over = search.ended_at is None or farm.now() >= search.ended_at + MOST_WAIT_S
    if step is None or wanted == () or is_over or not _is_of_regression(search):
        return
    joined = [one.workload for one in await others_of(farm, search)]
    if wanted is None and search.workload in joined:
        return
    beside = _testbeds_beside(farm, search)
    named = [one for one in beside if wanted is None or one in wanted]
    for testbed in await by_load(farm, named):
        metric = await _metric_there(farm, search, testbed)
        if metric is None:
            continue
        await farm.store.join_incident(_joining(search, step, testbed, metric), now=farm.now())
        if wanted is None:
            return


def _is_of_regression(search: SearchRow) -> bool:
    found = search.state is SearchState.FOUND and search.reason is SearchReason.ALARM
    return found and (search.claimed is None or search.makes_worse(search.claimed))


def _testbeds_beside(farm: Farm, search: SearchRow) -> list[str]:
    """The other testbeds that measure the workload of the search's branch, in the file's order."""
    found = (
        testbed
        for series in all_series(farm.workflow.bench_jobs)
        if series.workload == search.workload and series.measures(search.branch)
        for testbed in (series.testbed, *series.pool)
    )
    return [testbed for testbed in dict.fromkeys(found) if testbed != search.testbed]


async def _metric_there(farm: Farm, search: SearchRow, testbed: str) -> Metric | None:
    """What a testbed measures of the workload; None while nothing of it is known.

    Machines of one pool measure the same.
    """
    alike = testbed in series_at(farm, search.testbed, search.workload).pool
    known = await farm.store.samples(
        (search.testbed if alike else testbed, search.workload),
        (max(0, search.new_position - WINDOW_COMMITS), search.new_position + WINDOW_COMMITS),
        unit=search.value or None,
        branch=search.branch,
    )
    return next((sample.metric for sample in reversed(known) if sample.values), None)


def _joining(search: SearchRow, step: Step, testbed: str, metric: Metric) -> NewIncidentSeries:
    """The search's range as an alarm of that testbed: its level is worse by as much."""
    effect = -abs(step.effect) if metric.higher_is_better else abs(step.effect)
    there = {"testbed": testbed, "unit": metric.unit, "claimed": effect}
    return NewIncidentSeries(
        search_id=search.id,
        **shared(RaisedAlarm, search) | there | {"higher_is_better": metric.higher_is_better},
    )
