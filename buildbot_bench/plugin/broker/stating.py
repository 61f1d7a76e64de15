"""The storage of an ended search's figures, before any mail or page shows them."""

from __future__ import annotations

from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.queries.reports import stated_of

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
        await self._farm.store.change(search, stated=stated)
