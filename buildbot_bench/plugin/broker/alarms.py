"""The alarms that one incident explains, and the recoveries by which incidents end."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.incident.breakage import mended
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.incident.model import AlarmedSeries, returned_level
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.revision import repository_of
from buildbot_bench.core.sample import Metric, Sample
from buildbot_bench.core.search import Step
from buildbot_bench.core.search.information import is_worth_moving
from buildbot_bench.plugin.broker.ask import cancel_probes
from buildbot_bench.plugin.broker.breakages import KINDS
from buildbot_bench.plugin.db.columns import JudgementState, MarkKind, SearchKind, SearchReason
from buildbot_bench.plugin.db.finding_rows import (
    JudgementRow,
    NewIncidentSeries,
    NewSearch,
    RaisedAlarm,
    Recovery,
    SearchRow,
)
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import least_loaded, series_at, testbed_of
from buildbot_bench.plugin.queries.breakages import Watched, tried
from buildbot_bench.plugin.queries.incidents import (
    GIVEN_UP,
    alarmed_by,
    explains,
    incident_of,
    is_of,
    score_of,
)
from buildbot_bench.plugin.queries.judgements import said


async def search_of(
    farm: Farm,
    alarm: RaisedAlarm,
    *,
    key: str,
    branch: str,
    again: str = "",
    but: Iterable[int] = (),
) -> SearchRow:
    """The search that is to explain an alarm on a branch.

    `key` names what asks, so that it starts one search; one with that key that was given up is
    begun again under `key@again`. None of those in `but` explains it, nor does one that was noise.
    """
    but = {*but, *await said(farm, MarkKind.NOISE)}
    known = await _of_same_series(farm, alarm, branch, but)
    if known is not None:
        return known
    incident = await incident_of(farm, alarm.on(branch), but=but)
    if incident is not None:
        return await _join(farm, incident, alarm, branch)
    earlier = await farm.store.search_by_key(key)
    if earlier is not None and earlier.state in GIVEN_UP:
        key += f"@{again}"
    return await _start(farm, alarm, branch, key)


async def _of_same_series(
    farm: Farm, alarm: RaisedAlarm, branch: str, but: set[int]
) -> SearchRow | None:
    series = series_at(farm, alarm.testbed, alarm.workload)
    for testbed in dict.fromkeys((alarm.testbed, *series.pool)):
        for search in await farm.store.searches_over(
            (testbed, alarm.workload),
            alarm.old_position,
            alarm.new_position,
            repository=repository_of(branch),
            value=alarm.value,
        ):
            # What changes with a tunable set explains nothing of the series without it.
            if search.id in but or search.tunables:
                continue
            if explains(search, alarm.on(branch)):
                return search
    return None


async def _start(farm: Farm, alarm: RaisedAlarm, branch: str, key: str) -> SearchRow:
    testbed = await least_loaded(farm, series_at(farm, alarm.testbed, alarm.workload))
    return await farm.store.add_search(
        NewSearch(
            key=key,
            branch=branch,
            **shared(NewSearch, alarm) | {"testbed": testbed},
            min_effect=farm.workflow.min_effect_on(testbed),
            error=farm.workflow.regression.error,
            reason=SearchReason.ALARM,
            requester="",
            first_parent=farm.workflow.regression.first_parent,
        ),
        now=farm.now(),
    )


async def _join(farm: Farm, search: SearchRow, alarm: RaisedAlarm, branch: str) -> SearchRow:
    """Let an alarm join the incident of a search, or the search move to its series."""
    members = await farm.store.series_of_incident(search.id)
    known = next((one for one in members if is_of(one, alarm)), None)
    if known and known.judgement_id is None and known.standing is Standing.WAITING:
        # It was asked for a second opinion; what it saw itself is to be explained.
        await farm.store.change(known, **asdict(alarm))
        return search
    if not known and await _ends_sooner(farm, search, alarm.on(branch)):
        moved = await _move(farm, search, alarm)
        if moved is not None:
            return moved
    joining = NewIncidentSeries(search_id=search.id, **asdict(alarm))
    await farm.store.join_incident(joining, now=farm.now())
    return search


async def _ends_sooner(farm: Farm, search: SearchRow, alarm: AlarmedSeries) -> bool:
    if search.state is not SearchState.RUNNING:
        return False
    if search.series == (alarm.testbed, alarm.workload):
        return False  # the boots of one value are those of all
    declared = testbed_of(farm, search.testbed)
    iterations, _ = await farm.store.progress(search.id)
    return is_worth_moving(
        here=await score_of(farm, alarmed_by(search)),
        there=await score_of(farm, alarm),
        spent_s=iterations * (declared.boot_s + declared.run_s),
        commits=alarm.new - alarm.old,
    )


async def _move(farm: Farm, search: SearchRow, alarm: RaisedAlarm) -> SearchRow | None:
    """Have the search go on where the alarm was raised; None when another was quicker.

    The series that it leaves joins first: a master that dies between has lost none.
    """
    left = NewIncidentSeries(
        search_id=search.id,
        **shared(RaisedAlarm, search) | {"claimed": alarmed_by(search).effect},
        judgement_id=await farm.store.judgement_of_search(search.id, search.series, search.value),
    )
    await farm.store.join_incident(left, now=farm.now())
    moved = await farm.store.change(
        search,
        **shared(NewSearch, alarm),
        min_effect=farm.workflow.min_effect_on(alarm.testbed),
        forecast=None,
        inside=None,
    )
    if moved is not None:
        probes = await farm.store.probes_of_search(search.id)
        where = f"search {search.id} goes on with {alarm.workload} on {alarm.testbed}"
        await cancel_probes(farm, probes, where)
    return moved


class Recoveries:
    """Writes into the row of each search that found something how that ended, once it has."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        # What was held against a regression and is not its end; a judgement that is judged anew
        # is another one.
        self._refuted: set[tuple[int, int, int]] = set()
        self._seen: object = None

    async def advance(self) -> None:
        """Look at each incident that is open."""
        broken = await self._farm.store.searches(states=(SearchState.FOUND,), kinds=KINDS)
        still_broken = [search for search in broken if search.recovery is None]
        await for_each(still_broken, self._look_at_branch, "the end of breakage")
        findings = await self._farm.store.version_of_findings()
        if findings == self._seen:
            return
        found = await self._farm.store.searches(
            states=(SearchState.FOUND,), kinds=(SearchKind.EFFECT,)
        )
        # What was expected, or noise, is over by what people said of it.
        over = await said(self._farm, MarkKind.NOISE, MarkKind.EXPECTED)
        slower = [
            one
            for one in found
            # Of a search with tunables the history of the series says nothing.
            if one.recovery is None and not one.tunables and one.id not in over
        ]
        better = await self._farm.store.judgements(state=JudgementState.IMPROVEMENT)
        self._better: dict[tuple[str, str, str], list[JudgementRow]] = {}
        for row in sorted(better, key=lambda row: row.new_position):
            self._better.setdefault((row.testbed, row.workload, row.value), []).append(row)
        self._seen = findings
        await for_each(slower if better else (), self._look, "the end of search")

    async def _look_at_branch(self, search: SearchRow) -> None:
        if search.breakage is None:
            return
        newest = await self._farm.store.newest_commit(search.branch)
        since = search.old_position + search.breakage.new
        last = max(newest.position if newest else since, since)
        later = await tried(self._farm, Watched.of(search), since, last)
        if (found := mended(later.trials, since)) is None:
            return
        sides = {image.position: image for image in later.images}
        old, new = sides[found.old], sides[found.new]
        await self._close(search, _recovery(old, new, self._farm.now()))

    async def _look(self, search: SearchRow) -> None:
        seen, self._seen = self._seen, None  # which stays so where the look fails: it comes again
        await self._look_at_level(search)
        self._seen = seen

    async def _look_at_level(self, search: SearchRow) -> None:
        step = worst_step(search)
        if step is None:
            return
        culprit = search.old_position + step.new
        for row in self._better.get((search.testbed, search.workload, search.value), ()):
            seen = (search.id, row.id, row.version)
            same = row.branch in {search.branch, None}
            if not same or row.new_position <= culprit or seen in self._refuted:
                continue
            recovery = await self._level_is_back(search, step, row)
            if recovery is not None:
                await self._close(search, recovery)
                return
            self._refuted.add(seen)

    async def _level_is_back(
        self, search: SearchRow, step: Step, row: JudgementRow
    ) -> Recovery | None:
        before = await self._samples(search, search.old_position, search.old_position + step.old)
        now = await self._samples(search, row.new_position, row.new_position)
        if not now:
            return None
        metric, epoch = now[-1].metric, now[-1].epoch
        level = returned_level(
            _values(before, metric, epoch),
            _values(now, metric, epoch),
            effect=step.effect,
            min_effect=search.min_effect,
            higher_is_better=metric.higher_is_better,
        )
        if level is None or not level.back:
            return None
        return await self._recovery(search, step, row, level.difference)

    async def _recovery(
        self, search: SearchRow, step: Step, row: JudgementRow, difference: float
    ) -> Recovery | None:
        store = self._farm.store
        old_position = max(row.old_position, search.old_position + step.new)
        old = await store.image_at(search.branch, old_position)
        new = await store.image_at(search.branch, row.new_position)
        if old is None or new is None:
            return None
        return _recovery(old, new, self._farm.now(), difference)

    async def _samples(self, search: SearchRow, first: int, last: int) -> list[Sample]:
        return await self._farm.store.samples(
            search.series, (first, last), unit=search.measured_in, branch=search.branch
        )

    async def _close(self, search: SearchRow, recovery: Recovery) -> None:
        await self._farm.store.change(search, recovery=recovery)


def _recovery(
    old: ImageRow, new: ImageRow, at_s: float, difference: float | None = None
) -> Recovery:
    return Recovery(
        old_sha=old.sha,
        old_label=old.label,
        old_position=old.position,
        new_sha=new.sha,
        new_label=new.label,
        new_position=new.position,
        at_s=at_s,
        difference=difference,
    )


def worst_step(search: SearchRow) -> Step | None:
    """The largest step for the worse that a search is sure of: the one that people hear of."""
    steps = [
        step
        for step in search.steps
        if step.effect and search.makes_worse(step.effect) and step.probability >= 1 - search.error
    ]
    return max(steps, key=lambda step: abs(step.effect), default=None)


def _values(samples: Sequence[Sample], metric: Metric, epoch: str) -> tuple[float, ...]:
    """All boots of the newest revision that was measured in a metric and epoch."""
    fitting = [s for s in samples if (s.metric, s.epoch) == (metric, epoch) and s.values]
    newest = max((sample.position for sample in fitting), default=0)
    return tuple(value for s in fitting if s.position == newest for value in s.values)
