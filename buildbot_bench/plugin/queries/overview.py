"""The overview page, and the page of a search's report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.findings import NewestValue
from buildbot_bench.plugin.db.states import OPEN_SEARCHES, SearchKind
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import testbed_of
from buildbot_bench.plugin.queries.breakage_views import breakage_report
from buildbot_bench.plugin.queries.control_images import quarantine_view
from buildbot_bench.plugin.queries.evidence import item_on
from buildbot_bench.plugin.queries.incident_groups import READ, grouped, incident_view
from buildbot_bench.plugin.queries.lab import RECENT, worker
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.queries.searches import SearchViews
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


LISTED = 20
"""So many incidents and searches the overview has; it says how many there are."""
# So many boots are looked at for so many jobs.
_BOOTS, _JOBS = 60, 10


async def overview(farm: Farm) -> Json:
    """All of it; what it costs does not grow with the farm's past."""
    found = await grouped(farm, await farm.store.findings(READ, open_only=True))
    open_ones = [group for group in found if group.is_open]
    running = await farm.store.searches(states=OPEN_SEARCHES, limit=READ)
    return {
        "farm": farm.workflow.name,
        "incidents": [await incident_view(farm, group) for group in open_ones[:LISTED]],
        "open": len(open_ones),
        "searches": [await _running(farm, search) for search in running[:LISTED]],
        "running": len(running),
        "testbeds": await _health(farm),
        "measured": _jobs(await farm.store.newest_values(_BOOTS)),
    }


async def _running(farm: Farm, search: SearchRow) -> Json:
    return await SearchViews(farm).summarise(search)


async def _health(farm: Farm) -> list[Json]:
    """Each testbed: whether its worker is there, how it was of late, and why it is held."""
    outcomes = await farm.store.last_outcomes(RECENT)
    rows = []
    for name in sorted(farm.workflow.testbeds):
        ends = [(at_s, failure) for testbed, at_s, failure in outcomes if testbed == name]
        rows.append(
            {
                "testbed": name,
                "nouns": (await item_on(farm, name)).nouns,
                "worker": await worker(farm, testbed_of(farm, name).worker),
                "quarantine": await quarantine_view(farm, name),
                "recent": len(ends),
                "failed": sum(failure is not None for _, failure in ends),
                "last_at": ends[0][0] if ends else None,
                "last_failure": next((failure for _, failure in ends if failure), None),
            }
        )
    return rows


def _jobs(boots: list[NewestValue]) -> list[Json]:
    """The newest jobs with the values of their boots, newest first."""
    jobs: dict[int, list[NewestValue]] = {}
    for boot in boots:
        jobs.setdefault(boot.probe_id, []).append(boot)
    return [_job(of) for of in list(jobs.values())[:_JOBS]]


def _job(boots: list[NewestValue]) -> Json:
    newest = boots[0]
    return {
        "probeid": newest.probe_id,
        "label": newest.label,
        "sha": newest.sha,
        "image": newest.image,
        "testbed": newest.testbed,
        "workload": newest.workload,
        "reason": str(newest.reason),
        "searchid": newest.search_id,
        "values": [boot.value for boot in reversed(boots)],
        "unit": newest.unit,
        "at": newest.at_s,
    }
