"""Forecasts of the searches that people started, stored once they are computed."""

from __future__ import annotations

from buildbot_bench.api.states import SearchState
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import SearchKind, SearchReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.queries.evidence import SearchInputs
from buildbot_bench.plugin.queries.waits import expected_if_known, gather_first


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
