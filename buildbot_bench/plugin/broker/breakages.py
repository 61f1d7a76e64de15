"""Searches for the commit that broke building or booting: start, trials, answer and end."""

from collections.abc import Collection
from itertools import count

from twisted.logger import Logger

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.incident.breakage import broken_tip, mended, plan_breakage
from buildbot_bench.core.incident.model import TIP_ROW, Breakage, BrokenTip, Ending
from buildbot_bench.core.incident.workload import BrokenWorkload
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.revision import Revision, repository_of
from buildbot_bench.core.search import Measure
from buildbot_bench.plugin.broker.ask import (
    Capacity,
    ask_boots,
    ask_image,
    cancel_probes,
    target_of,
)
from buildbot_bench.plugin.broker.quarantine import revived
from buildbot_bench.plugin.db.columns import (
    OPEN_PROBES,
    OPEN_SEARCHES,
    UNBUILT,
    ImageState,
    ProbeReason,
    SearchKind,
    SearchReason,
)
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import all_series, held_testbeds, watched_branches
from buildbot_bench.plugin.queries.breakages import (
    BreakageInputs,
    Watched,
    gather_breakage,
    is_about,
    tried,
    troubles_of_workloads,
)
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS

_LOG = Logger()

KINDS = (SearchKind.BUILD, SearchKind.BOOT)
# Among so many of the newest commits are the few that were tried last; older ones are read when
# those fail.
_TIP_COMMITS = 200
_STATES = {
    Ending.BROKEN: SearchState.FOUND,
    Ending.MENDED: SearchState.NOT_REPRODUCED,
    Ending.UNPROVEN: SearchState.INCONCLUSIVE,
}


class Breakages:
    """Begins the searches for what broke a branch, gives each its next trial, or its answer."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._capacity = Capacity(farm=farm)

    async def advance(self) -> None:
        """Look at the tip of each branch, and at each search that has not ended."""
        triggers = self._farm.workflow.on
        if triggers.push is not None and triggers.breakage:
            told = await self._told()
            branches = await watched_branches(self._farm)
            repositories = {repository_of(branch) for branch in branches}
            unbuilt = await self._farm.store.last_untestable(repositories)
            tips = await self._farm.store.newest_commits(branches)
            first = {name: max(0, tip.position - _TIP_COMMITS) for name, tip in tips.items()}
            failed = await self._farm.store.series_that_failed(first)
            for branch, newest in tips.items():
                if failed[branch] or unbuilt.get(repository_of(branch), 0) >= first[branch]:
                    await self._watch(branch, newest.position, told, failed[branch])
        going_on = await self._farm.store.searches(states=OPEN_SEARCHES, kinds=KINDS)
        await for_each(going_on, self._advance, "the search for breakage")

    async def _watch(
        self,
        branch: str,
        newest: int,
        told: Collection[Watched],
        failed: Collection[tuple[str, str]],
    ) -> None:
        """Look at what may have broken: the builds, and each series whose boots failed of late."""
        held = await held_testbeds(self._farm)
        # A workload in doubt is no obstacle: a search for a breakage proves that something works.
        troubles = await troubles_of_workloads(self._farm)
        broken = {at for at, one in troubles.items() if isinstance(one.verdict, BrokenWorkload)}
        boots = [
            Watched(
                kind=SearchKind.BOOT,
                branch=branch,
                testbed=series.testbed,
                workload=series.workload,
            )
            for series in all_series(self._farm.workflow.bench_jobs)
            if series.name in failed
            and series.measures(branch)
            and series.testbed not in held
            and series.name not in broken
        ]
        for watched in (Watched(kind=SearchKind.BUILD, branch=branch), *boots):
            if watched in told:
                continue
            tip = await self._broken_tip(watched, newest)
            if tip is not None and not await self._is_known(watched, tip):
                await self._begin(watched, tip)

    async def _broken_tip(self, watched: Watched, newest: int) -> BrokenTip | None:
        """Of most branches the newest few commits show that all is well."""
        store, first = self._farm.store, max(0, newest - _TIP_COMMITS)
        if watched.kind is SearchKind.BUILD:
            failing = await store.failing_builds(watched.branch, first)
        else:
            series = (watched.testbed, watched.workload)
            failing = await store.failing_boots(watched.branch, series, first)
        last = list(failing.values())[:TIP_ROW]
        if len(last) < TIP_ROW or not all(last):
            return None
        before = await tried(self._farm, watched, max(0, newest - WINDOW_COMMITS), newest)
        return broken_tip(before.trials)

    async def _told(self) -> set[Watched]:
        """The branches' builds, and series' boots, of which a breakage is reported already."""
        there = {*OPEN_SEARCHES, SearchState.FOUND}
        return {
            Watched.of(search)
            for search in await self._farm.store.searches(states=there, kinds=KINDS)
            if search.recovery is None
        }

    async def _is_known(self, watched: Watched, tip: BrokenTip) -> bool:
        """Whether a search is, or was, about this stretch; a series has one such at a time.

        What another series' search found, or may yet find, is the same incident.
        """
        for search in await self._farm.store.searches(kinds=(watched.kind,)):
            if search.branch != watched.branch or search.recovery is not None:
                continue
            if Watched.of(search) == watched:
                if search.new_position > tip.works:
                    return True
            elif await is_about(self._farm, search, tip):
                return True
        return False

    async def _begin(self, watched: Watched, tip: BrokenTip) -> None:
        farm = self._farm
        old_sha = await self._sha(watched.branch, tip.works)
        new_sha = await self._sha(watched.branch, tip.broken)
        if old_sha is None or new_sha is None:
            return
        search = await farm.store.add_search(
            NewSearch(
                key=f"{watched.kind}:{watched.testbed}:{watched.workload}:{old_sha}:{new_sha}",
                **shared(Watched, watched),
                unit="",
                old_sha=old_sha,
                old_position=tip.works,
                new_sha=new_sha,
                new_position=tip.broken,
                min_effect=farm.workflow.regression.min_effect,
                error=farm.workflow.regression.error,
                reason=SearchReason.ALARM,
                requester="",
            ),
            now=farm.now(),
        )
        _LOG.info(
            "bench: search {search} looks for what broke {branch}",
            search=search.id,
            branch=watched.branch,
        )

    async def _sha(self, branch: str, position: int) -> str | None:
        image = await self._farm.store.image_at(branch, position)
        return None if image is None else image.sha

    async def _advance(self, search: SearchRow) -> None:
        probes = await self._farm.store.probes_of_search(search.id)
        waiting = [probe for probe in probes if probe.state in OPEN_PROBES]
        if search.state is SearchState.CANCELLING:
            await cancel_probes(self._farm, waiting, f"search {search.id} was cancelled")
            await self._end(search, SearchState.CANCELLED)
            return
        if why := await self._mended_meanwhile(search):
            await cancel_probes(self._farm, waiting, f"search {search.id}: {why}")
            await self._end(search, SearchState.NOT_REPRODUCED, detail=why)
            return
        if waiting or search.testbed in await held_testbeds(self._farm):
            return
        inputs = await gather_breakage(self._farm, search)
        builders = max(len(self._farm.workflow.build_job.runs_on), 1)
        match await calculate(plan_breakage, inputs.range.n, inputs.evidence, builders):
            case Measure() as wanted:
                await self._try(search, inputs, wanted, serial=len(probes) + 1)
            case Breakage() as answer:
                await self._end(search, _STATES[answer.ending], answer=answer, detail=answer.detail)

    async def _mended_meanwhile(self, search: SearchRow) -> str:
        """What ends a search whose branch works again: nobody hears of what is over."""
        newest = await self._farm.store.newest_commit(search.branch)
        last = newest.position if newest else search.new_position
        later = await tried(self._farm, Watched.of(search), search.new_position, last)
        if (found := mended(later.trials, search.new_position)) is None:
            return ""
        label = next(i.label for i in later.images if i.position == found.new)
        does = "builds" if search.kind is SearchKind.BUILD else "boots"
        return f"{label} {does} again: the branch was fixed before the search ended"

    async def _try(
        self, search: SearchRow, inputs: BreakageInputs, wanted: Measure, *, serial: int
    ) -> None:
        revision = inputs.range.revisions[wanted.position]
        if search.kind is SearchKind.BUILD:
            await self._build(search, inputs, revision)
        else:
            await self._boot(search, revision, serial=serial)
        spare = max(await self._capacity.free_builders(search.repository), 0)
        for position in wanted.prefetch[:spare]:
            ahead = target_of(inputs.range.revisions[position], search.branch)
            await ask_image(self._farm, ahead)

    async def _build(self, search: SearchRow, inputs: BreakageInputs, revision: Revision) -> None:
        """Ask for the first build of a revision that nobody had yet; wait while one goes on."""
        known = {i.ordinal: i for i in inputs.images if i.position == revision.position}
        if any(image.state in UNBUILT for image in known.values()):
            return
        ordinal = next(k for k in count() if k not in known or _is_unknown(known[k]))
        await ask_image(self._farm, target_of(revision, search.branch), ordinal)

    async def _boot(self, search: SearchRow, revision: Revision, *, serial: int) -> None:
        """Ask for a boot; that a kernel did not boot before may have been an accident."""
        farm = self._farm
        image = await ask_image(farm, target_of(revision, search.branch))
        if await revived(farm, image) is None:
            return
        series, reason = search.series, ProbeReason.SEARCH
        await ask_boots(farm, image.id, series, reason, 1, search_id=search.id, serial=serial)

    async def _end(
        self,
        search: SearchRow,
        state: SearchState,
        *,
        answer: Breakage | None = None,
        detail: str | None = None,
    ) -> None:
        await self._farm.end(search, state, breakage=answer, detail=detail)


def _is_unknown(image: ImageRow) -> bool:
    """Whether an image that nobody builds now says nothing of its revision yet."""
    return image.state is ImageState.DROPPED and image.digest is None
