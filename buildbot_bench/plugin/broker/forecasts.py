"""Forecasts of the searches that people started, stored once they are computed."""

from __future__ import annotations

from buildbot_bench.api.states import SearchState
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import SearchKind, SearchReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.queries.forecasts import expected_at_first


class Forecasts:
    """Gives each search of a person its forecast."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Ask for those that are missing, and keep those that are there."""
        searches = await self._farm.store.searches(
            states=(SearchState.RUNNING,), kinds=(SearchKind.EFFECT,)
        )
        missing = [
            one for one in searches if one.reason is SearchReason.PERSON and one.forecast is None
        ]
        await for_each(missing, self._keep, "the forecast of search")

    async def _keep(self, search: SearchRow) -> None:
        found = await expected_at_first(self._farm, search, then=self._farm.wake)
        if found is not None:
            await self._farm.store.change(search, forecast=found)
