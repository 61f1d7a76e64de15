"""An incident's other series: asked for a second opinion, confirmed, or searched separately."""

from dataclasses import replace

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.evidence import is_alike, relinks_among
from buildbot_bench.core.incident.confirmation import (
    Confirmation,
    Standing,
    confirmation,
    leaves_a_rest,
)
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.judge.model import Remeasure
from buildbot_bench.core.sample import KNOWN_METRICS, PPS, Metric, NoiseClass
from buildbot_bench.core.search import Evidence, SearchPolicy, Step
from buildbot_bench.plugin.broker import ask
from buildbot_bench.plugin.broker.alarms import search_of, worst_step
from buildbot_bench.plugin.broker.collect import why_fruitless
from buildbot_bench.plugin.db.columns import OPEN_PROBES, ProbeReason, SearchReason
from buildbot_bench.plugin.db.finding_rows import (
    IncidentSeriesRow,
    NewIncidentSeries,
    RaisedAlarm,
    SearchRow,
)
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import (
    all_series,
    by_load,
    held_testbeds,
    removal_reason,
    series_at,
)
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS, SearchInputs, gather, item_on
from buildbot_bench.plugin.queries.incidents import (
    MOST_WAIT_S,
    is_forsaken,
    is_of,
    is_of_slope,
    others_of,
    series_as,
    step_within,
)


class Incidents:
    """Brings each series of an incident to its end, once the search has found the step."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._boots = ask.Boots(farm=farm, capacity=ask.Capacity(farm=farm))

    async def advance(self) -> None:
        """Look at each series that waits."""
        waiting = await self._farm.store.waiting_series()
        await for_each(waiting, self._advance, "the series of an incident")

    async def _advance(self, member: IncidentSeriesRow) -> None:
        search = await self._farm.store.search(member.search_id)
        if search is None or is_of(member, search):
            return
        if why := removal_reason(self._farm, member.testbed, member.workload, search.repository):
            await self._end(member, Standing.UNCLEAR, why)
        elif is_slope_alone(search, member):
            why = f"it lies within the slope that search {search.id} found"
            await self._end(member, Standing.UNCLEAR, why)
        elif await is_forsaken(self._farm, search):
            why = f"search {search.id} found nothing: {search.detail or search.state}"
            await self._search_alone(member, search, Standing.UNCLEAR, why)
        elif search.state in {SearchState.CANCELLED, SearchState.CANCELLING}:
            await self._end(member, Standing.UNCLEAR, f"search {search.id} was cancelled")
        elif search.ended_at is not None:
            await self._confirm(member, search)

    async def _confirm(self, member: IncidentSeriesRow, search: SearchRow) -> None:
        step = step_within(search, member.on(search.branch))
        if step is None:
            why = "the step lies outside of the commits among which this series changed"
            await self._search_alone(member, search, Standing.DENIED, why)
            return
        probes = await self._probes(member)
        held = await held_testbeds(self._farm)
        if member.testbed in held or any(probe.state in OPEN_PROBES for probe in probes):
            return
        if why := await why_fruitless(self._farm, probes):
            await self._end(member, Standing.UNCLEAR, why)
            return
        least = self._farm.workflow.min_effect_on(member.testbed)
        there = series_as(search, member, least)
        inputs = await gather(self._farm, there)
        found = await calculate(
            confirmation,
            step.old,
            step.new,
            without_twins(inputs),
            policy_there(inputs, step, member.unit),
            confidence=self._farm.workflow.regression.confidence,
            item=await item_on(self._farm, member.testbed),
        )
        if isinstance(found, Confirmation):
            await self._conclude(member, search, found, least)
            return
        for one in found:
            await self._ask(there, inputs, one, serial=len(probes) + 1)

    async def _conclude(
        self, member: IncidentSeriesRow, search: SearchRow, found: Confirmation, min_effect: float
    ) -> None:
        """Write the verdict down; what the step does not explain is searched."""
        figures = {"effect": found.effect, "low": found.low, "high": found.high}
        alarm = member.judgement_id and await self._farm.store.judgement(member.judgement_id)
        rest = bool(
            alarm
            and alarm.low is not None
            and alarm.high is not None
            and leaves_a_rest(found, alarm.low, alarm.high, min_effect)
        )
        if found.standing is Standing.DENIED:
            await self._search_alone(member, search, Standing.DENIED, found.reason, **figures)
        elif found.standing is Standing.CONFIRMED and rest:
            why = f"{found.reason}; it changed by more than that"
            await self._search_alone(member, search, Standing.CONFIRMED, why, **figures)
        else:
            await self._end(member, found.standing, found.reason, **figures)

    async def _ask(
        self, there: SearchRow, inputs: SearchInputs, wanted: Remeasure, *, serial: int
    ) -> None:
        relinks = relinks_among(ask.images_at(inputs, wanted.position))
        await self._boots.ask(
            there,
            inputs,
            position=wanted.position,
            image=relinks.next(wanted.image) if wanted.image else 0,
            iterations=wanted.iterations,
            reason=ProbeReason.CONFIRM,
            serial=serial,
        )

    async def _search_alone(
        self,
        member: IncidentSeriesRow,
        search: SearchRow,
        standing: Standing,
        why: str,
        **figures: float,
    ) -> None:
        """Give a series another search than its incident's, and link its alarm to that one.

        One that was asked for a second opinion raised no alarm: nothing is left to explain.
        """
        store = self._farm.store
        if member.judgement_id is None:
            await self._end(member, standing, why, **figures)
            return
        alarm = RaisedAlarm(**shared(RaisedAlarm, member))
        own = await search_of(
            self._farm,
            alarm,
            key=f"incident:{member.id}",
            branch=search.branch,
            but=(member.search_id,),
        )
        row = await store.judgement(member.judgement_id)
        if row:
            await store.change(row, changed_at=self._farm.now(), search_id=own.id)
        await self._end(member, standing, why, own_search_id=own.id, **figures)

    async def _end(
        self, member: IncidentSeriesRow, standing: Standing, why: str, **columns: float
    ) -> None:
        await self._farm.store.change(
            member, standing=standing, reason=why, ended_at=self._farm.now(), **columns
        )

    async def _probes(self, member: IncidentSeriesRow) -> list[ProbeRow]:
        """What was asked of the series for the incident, while it was not the one searched.

        Boots are asked for all values of a run: what one value wants serves the others.
        """
        return [
            probe
            for probe in await self._farm.store.probes_of_search(member.search_id)
            if member.series == probe.series and probe.reason is ProbeReason.CONFIRM
        ]


def is_slope_alone(search: SearchRow, member: IncidentSeriesRow) -> bool:
    """Whether a series changed within a slope of a search, and at none of its steps."""
    alarm = member.on(search.branch)
    return step_within(search, alarm) is None and is_of_slope(search, alarm)


def policy_there(inputs: SearchInputs, step: Step, unit: str) -> SearchPolicy:
    """What is known of the series: whether layout matters, and more images can be made."""
    known = [KNOWN_METRICS.get(unit, PPS), *(one.metric for one in inputs.samples)]
    counted = any(metric.noise is NoiseClass.EXACT for metric in known)
    more = all(
        relinks_among(ask.images_at(inputs, position)).more for position in (step.old, step.new)
    )
    return replace(inputs.policy, layout=not counted, images=inputs.policy.images and more)


def without_twins(inputs: SearchInputs) -> Evidence:
    """The evidence in which a further image that came out as the first counts as the first."""
    first = inputs.range.old.position
    firsts = {
        (image.variant, image.position): image
        for image in inputs.images.values()
        if image.ordinal == 0
    }
    twins = {
        (image.position - first, image.ordinal)
        for image in inputs.images.values()
        if (one := firsts.get((image.variant, image.position))) and is_alike(image, one)
    }
    return replace(
        inputs.evidence,
        measurements=tuple(
            replace(one, image=0) if (one.position, one.image) in twins else one
            for one in inputs.evidence.measurements
        ),
    )


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
