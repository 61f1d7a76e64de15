"""Searches for improvements, one at a time while the lab is idle."""

from __future__ import annotations

from buildbot_bench.plugin.broker.follow_ups import search_for
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.states import OPEN_PROBES, OPEN_SEARCHES, MarkKind
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import (
    held_testbeds,
    least_loaded,
    removal_reason,
    series_at,
    testbed_of,
)

NEWS_S = 28 * 24 * 3600.0
"""An improvement that the lab had no time for in four weeks is left alone: it is no news."""
_LISTED = 50  # candidates, of which the first that may be searched is


class Improvements:
    """Starts the search for an improvement alarm, or links it to one that explains it."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look for the oldest improvement whose testbed idles."""
        farm = self._farm
        if not farm.workflow.regression.improvements:
            return
        since_s = farm.now() - NEWS_S
        for row in await farm.store.unsearched_improvements(since_s, _LISTED):
            if await self._may_be_searched(row):
                await self._search(row)
                return  # the lab has something to do now

    async def _search(self, row: JudgementRow) -> None:
        anchor, effect = row.grounds.anchor, row.effect
        if anchor is not None and effect is not None:
            await search_for(self._farm, row, anchor=anchor, claimed=effect, unit=row.unit)
            self._farm.wake()

    async def _may_be_searched(self, row: JudgementRow) -> bool:
        """Whether it can be, nobody knows of it already, and its testbed has nothing to do."""
        if row.grounds.anchor is None or row.effect is None:
            return False  # an older release's alarm
        if removal_reason(self._farm, row.testbed, row.workload, row.repository):
            return False
        marks = await self._farm.store.marks_of_judgement(row.id)
        if marks and marks[-1].kind in {MarkKind.EXPECTED, MarkKind.NOISE}:
            return False
        series = series_at(self._farm, row.testbed, row.workload)
        return await self._is_idle(await least_loaded(self._farm, series))

    async def _is_idle(self, testbed: str) -> bool:
        """Whether neither a search nor any boot is wanted of a testbed's worker."""
        farm = self._farm
        if testbed in await held_testbeds(farm):
            return False
        worker = testbed_of(farm, testbed).worker
        active = await farm.store.searches(states=OPEN_SEARCHES)
        wanted = {search.testbed for search in active}
        for state in OPEN_PROBES:
            wanted |= {probe.testbed for probe in await farm.store.probes(state=state)}
        return all(testbed_of(farm, name).worker != worker for name in wanted if name)
