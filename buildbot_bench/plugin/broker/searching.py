"""The next probe of each running search, or its answer, as `plan` gives it."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.report.model import ReportKind
from buildbot_bench.core.report.steps import kind_of
from buildbot_bench.core.search import Answer, Measure, meanwhile, plan
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.broker.ask import (
    Boots,
    Capacity,
    bootable_image,
    cancel_probes,
    is_built,
    places_of,
)
from buildbot_bench.plugin.broker.collect import why_fruitless
from buildbot_bench.plugin.broker.incidents import ask_second_opinion
from buildbot_bench.plugin.db.columns import (
    OPEN_PROBES,
    OPEN_SEARCHES,
    UNBUILT,
    Priority,
    SearchKind,
    SearchReason,
)
from buildbot_bench.plugin.db.finding_rows import Answers, SearchRow
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate, known
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import held_testbeds, testbed_of
from buildbot_bench.plugin.queries.breakages import troubles_of_workloads
from buildbot_bench.plugin.queries.evidence import SearchInputs, gather_innermost, span_of, spans_of
from buildbot_bench.plugin.queries.incidents import is_of_improvement
from buildbot_bench.plugin.queries.reports import stated_of
from buildbot_bench.plugin.queries.waits import expected_if_known, gather_first
from buildbot_bench.workflow.model import Workflow

MOST = 5
"""So many a cycle looks at: those of earlier releases, which may be hundreds, hold up no boots."""


class Stating:
    """Gives each ended search the figures that its report, all pages and all mails show."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look at the searches that have none yet, the newest first."""
        searches = await self._farm.store.unstated_searches(MOST)
        await for_each(searches, self._state, "search")

    async def _state(self, search: SearchRow) -> None:
        stated = await stated_of(self._farm, search)
        # Before they are kept: a master that ends here asks again, and no mail goes without.
        await ask_second_opinion(self._farm, replace(search, stated=stated))
        await self._farm.store.change(search, stated=stated)


class Searching:
    """Gives every running search its next probe, or its answer."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._capacity = Capacity(farm=farm)
        self._boots = Boots(farm=farm, capacity=self._capacity)
        self._news = _News(farm)

    async def advance(self) -> None:
        """Look at each search that has not ended."""
        searches = await self._farm.store.searches(states=OPEN_SEARCHES, kinds=(SearchKind.EFFECT,))
        held = await held_testbeds(self._farm)
        broken = await troubles_of_workloads(self._farm)
        # What a search asks of a testbed, or a workload, that is not to be believed would wait.
        going_on = [
            s
            for s in searches
            if s.state is SearchState.CANCELLING
            or (s.testbed not in held and s.series not in broken)
        ]
        if going_on:
            await self._news.look(going_on)
        await for_each(going_on, self._advance, "search")

    async def _advance(self, search: SearchRow) -> None:
        if not self._news.is_there(search):
            return
        probes = await self._farm.store.probes_of_search(search.id)
        waiting = [probe for probe in probes if probe.state in OPEN_PROBES]
        if search.state == SearchState.CANCELLING:
            await self._cancel(search, probes)
        elif waiting:
            if await self._meanwhile(search, waiting, serial=len(probes) + 1):
                self._news.was_looked_at(search)
        else:
            await self._next(search, probes)

    async def _next(self, search: SearchRow, probes: list[ProbeRow]) -> None:
        if why := await why_fruitless(self._farm, probes, FailureKind.UNTESTABLE):
            if search.answers:  # those of the merge stand
                lost = Answer(steps=(), reproduced=True, unresolved=(), reason=why)
                await self._answered(search, lost)
            else:
                await self._farm.end(search, SearchState.FAILED, detail=why)
            return
        if not await self._looked_for_prebuilt(search):
            return
        inputs = await gather_innermost(self._farm, search)
        decision = self._decide(inputs)
        match decision:
            case Measure():
                await self._boots.ask(
                    search,
                    inputs,
                    position=decision.position,
                    image=bootable_image(inputs, decision),
                    serial=len(probes) + 1,
                )
                await self._boots.build_ahead(search, inputs, decision)
            case Answer():
                await self._answered(search, decision)

    async def _answered(self, search: SearchRow, answer: Answer) -> None:
        """Go on inside the merge that an answer names; else the search has ended with the first.

        One compare-and-swap: two masters that think alike write one answer.
        """
        answers = *search.answers, answer
        spans = await self._farm.git(spans_of, self._farm, search, answers)
        if len(spans) == len(answers) and not spans[-1].inside.is_merge_alone:
            await self._farm.store.change(search, inside=Answers(found=answers))
            self._farm.wake()
            return
        first = answers[0]
        inside = {"inside": Answers(found=answers)} if spans else {}
        state = outcome(first, search.error)
        await self._farm.end(search, state, answer=first, **inside)

    async def _looked_for_prebuilt(self, search: SearchRow) -> bool:
        """Whether it is known which revisions somebody else built; else the cycle comes again."""
        farm = self._farm
        elsewhere = search.repository or search.fix_sha is not None or search.answers
        if elsewhere or not farm.prebuilt.is_used:
            return True
        span = await farm.git(span_of, farm, search)
        return farm.prebuilt.looked(search.branch, span, then=farm.wake)

    async def _meanwhile(self, search: SearchRow, waiting: list[ProbeRow], *, serial: int) -> bool:
        """Use a testbed that would idle while the next probe waits for its image or its testbed.

        A boot in between may settle the matter: then nothing is waited for any longer. False while
        the plan is not known.
        """
        if is_of_improvement(search):
            return True
        declared = testbed_of(self._farm, search.testbed)
        lab_idles = await self._capacity.idle_s(search.testbed) >= declared.boot_s + declared.run_s
        if not lab_idles and await self._capacity.free_builders(search.repository) <= 0:
            return True
        inputs = await gather_innermost(self._farm, search)
        decision = self._decide(inputs)
        if isinstance(decision, Measure):
            await self._boots.build_ahead(search, inputs, decision)
            if lab_idles:
                await self._fill_in(search, inputs, waiting, serial=serial)
        elif decision is not None and lab_idles:
            await cancel_probes(self._farm, waiting, f"search {search.id} has its answer")
            await self._answered(search, decision)
        return decision is not None

    async def _fill_in(
        self, search: SearchRow, inputs: SearchInputs, waiting: list[ProbeRow], *, serial: int
    ) -> None:
        """Boot an image that is there, if it tells something and ends before the next build."""
        costs = inputs.costs
        idle_s = await self._capacity.idle_s(search.testbed, build_s=costs.build_s)
        if idle_s < costs.boot_s + costs.run_s:
            return
        extra = await calculate(
            meanwhile,
            inputs.range.n,
            inputs.evidence,
            costs,
            inputs.policy,
            tuple(places_of(inputs, waiting)),
        )
        if extra is not None and is_built(inputs, extra):
            await self._boots.ask(
                search,
                inputs,
                position=extra.position,
                image=extra.image,
                serial=serial,
                priority=Priority.SPARE,
            )

    def _decide(self, inputs: SearchInputs) -> Measure | Answer | None:
        """The plan, or None: the cycle does not wait for it, and another begins when it is known.

        The boots and builds of all others would wait, too.
        """
        question = inputs.range.n, inputs.evidence, inputs.costs, inputs.policy
        return known(plan, *question, then=self._farm.wake)

    async def _cancel(self, search: SearchRow, probes: list[ProbeRow]) -> None:
        await cancel_probes(self._farm, probes, f"search {search.id} was cancelled")
        await self._farm.end(search, SearchState.CANCELLED)


def outcome(answer: Answer, error: float) -> SearchState:
    """The word for an answer, by the rule that the report goes by."""
    match kind_of(answer, error=error):
        case ReportKind.CULPRIT:
            return SearchState.FOUND
        case ReportKind.SLOPE:
            return SearchState.SLOPE
        case ReportKind.NOT_REPRODUCED:
            return SearchState.NOT_REPRODUCED
        case ReportKind.INCONCLUSIVE:
            return SearchState.INCONCLUSIVE


class Forecasts:
    """Gives each search of a person its forecast."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        # Each boot since would make another question of it, and none would be answered in time.
        self._first: dict[int, SearchInputs] = {}

    async def advance(self) -> None:
        """Ask for those that are missing, and keep those that are there."""
        searches = await self._farm.store.searches(
            states=(SearchState.RUNNING,), kinds=(SearchKind.EFFECT,)
        )
        missing = [
            one for one in searches if one.reason is SearchReason.PERSON and one.forecast is None
        ]
        self._first = {one.id: self._first[one.id] for one in missing if one.id in self._first}
        await for_each(missing, self._keep, "the forecast of search")

    async def _keep(self, search: SearchRow) -> None:
        if search.id not in self._first:
            self._first[search.id] = await gather_first(self._farm, search)
        found = expected_if_known(search, self._first[search.id], then=self._farm.wake)
        if found is not None:
            await self._farm.store.change(search, forecast=found)


# Of two iterations the later number may be in the table first: so many back, one is no surprise.
_LATE_ROWS = 1000


class _News:
    """Of each search that waits what was so when it was looked at last."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._workflow: Workflow | None = None
        self._iterations: dict[tuple[str, str], int] = {}
        self._now: dict[int, Hashable] = {}
        self._seen: dict[int, Hashable] = {}

    async def look(self, searches: Sequence[SearchRow]) -> None:
        """Read the state of all searches."""
        store = self._farm.store
        if self._workflow is not self._farm.workflow:
            self._workflow, self._seen = self._farm.workflow, {}
        newest = max(self._iterations.values(), default=0)
        self._iterations |= await store.newest_iterations(newest - _LATE_ROWS)
        probes = await store.open_probes()
        unbuilt = [image.id for state in UNBUILT for image in await store.images(state=state)]
        images = await store.versions_of_ranges()
        lasting = tuple(await store.quarantines(open_only=True))
        by_worker = self._by_worker(probes)
        waiting = {probe.search_id for probe in probes}
        self._now = {
            search.id: (
                search.version,
                images.get(search.id),
                self._iterations.get(search.series),
                by_worker.get(testbed_of(self._farm, search.testbed).worker),
                len(unbuilt) < len(self._farm.workflow.build_job_of(search.repository).runs_on),
                lasting,
            )
            for search in searches
            if search.id in waiting
        }
        self._seen = {number: seen for number, seen in self._seen.items() if number in self._now}

    def is_there(self, search: SearchRow) -> bool:
        """Whether to look at a search; at one that waits for nothing, always."""
        return search.id not in self._now or self._seen.get(search.id) != self._now[search.id]

    def was_looked_at(self, search: SearchRow) -> None:
        """Let what was read be no news any more; what was asked for since is."""
        if search.id in self._now:
            self._seen[search.id] = self._now[search.id]

    def _by_worker(self, probes: Sequence[ProbeRow]) -> dict[str, frozenset[tuple[int, int]]]:
        """By worker its open probes, with their versions."""
        found: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for probe in probes:
            found[testbed_of(self._farm, probe.testbed).worker].add((probe.id, probe.version))
        return {worker: frozenset(those) for worker, those in found.items()}
