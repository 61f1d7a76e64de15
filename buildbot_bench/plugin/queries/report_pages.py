"""The report of an ended search as HTML for its page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from buildbot_bench.plugin.db.states import SearchKind
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.breakage_views import breakage_report
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.html import ReportFragment
from buildbot_bench.render.notices import breakage_fragment
from buildbot_bench.render.pictures import illustrated_fragment

Json = dict[str, Any]

_NOTHING = ReportFragment(card="", sections="")


async def report_page(farm: Farm, search_id: int) -> Json | None:
    """The parts of the page as HTML, empty while a search runs; None without such a search."""
    search = await farm.store.search(search_id)
    if search is None:
        return None
    if search.ended_at is None:
        return asdict(_NOTHING)
    if search.kind is not SearchKind.EFFECT:
        broken = await breakage_report(farm, search)
        return asdict(_NOTHING if broken is None else breakage_fragment(broken))
    return asdict(await calculate(illustrated_fragment, await report_of(farm, search)))
