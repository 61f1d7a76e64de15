"""The first page and the Lab page: incidents, searches, testbeds with their queues, builders."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.json_model import Json
from buildbot_bench.plugin.db.columns import (
    OPEN_SEARCHES,
    UNBUILT,
    ImageState,
    ProbeReason,
    SearchKind,
)
from buildbot_bench.plugin.db.findings import NewestValue
from buildbot_bench.plugin.db.leases import BROKER
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.farm import Farm, bench_builder
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import first_branch, testbed_of, watched_branches
from buildbot_bench.plugin.queries.breakage_views import breakage_report
from buildbot_bench.plugin.queries.control_images import control_view, quarantine_view
from buildbot_bench.plugin.queries.evidence import item_of_farm, item_on
from buildbot_bench.plugin.queries.incident_groups import READ, grouped, incident_view
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.queries.waits import Waits, waits
from buildbot_bench.render.html import report_fragment
from buildbot_bench.render.message import breakage_fragment

# How many of the newest iterations tell whether a testbed is well.
RECENT = 200


async def lab(farm: Farm) -> Json:
    """The testbeds with their queues, and the images that wait for a builder."""
    images = [
        *await farm.store.images(ImageState.BUILDING),
        *await farm.store.images(ImageState.WANTED),
    ]
    return {
        "farm": farm.workflow.name,
        "branch": await first_branch(farm),
        "branches": list(await watched_branches(farm)),
        "testbeds": await testbeds(farm),
        "builders": [await worker(farm, name) for name in farm.workflow.builders],
        "images": [
            {"label": i.label, "image": i.ordinal, "state": str(i.state), "since": i.changed_at}
            for i in images
        ],
        "masters": await masters(farm),
        "nouns": (await item_of_farm(farm)).nouns,
    }


async def masters(farm: Farm) -> list[Json]:
    """Those of several that live: which runs the broker, and why one does not hear the others."""
    rows = await farm.store.leases()
    if not rows:
        return []
    names = {one["masterid"]: one["name"] for one in await farm.master.data.get(("masters",))}
    brokers = {row.masterid for row in rows if row.name == BROKER}
    return [
        {
            "name": names.get(row.masterid, row.name),
            "runs_broker": row.masterid in brokers,
            "trouble": row.trouble,
        }
        for row in rows
        if row.name != BROKER
    ]


async def testbeds(farm: Farm) -> list[Json]:
    """All of them by name."""
    found = await waits(farm)
    return [await _testbed(farm, name, found) for name in sorted(farm.workflow.testbeds)]


async def testbed(farm: Farm, name: str) -> Json:
    """One testbed: its worker, how it was of late, what it does, its queue, its control image."""
    return await _testbed(farm, name, await waits(farm))


async def _testbed(farm: Farm, name: str, found: Waits) -> Json:
    declared = testbed_of(farm, name)
    entries = [
        await _entry(farm, probe) | {"waits_for": found.texts.get(probe.id, "")}
        for probe in await _queue(farm, name, found)
    ]
    wait_s = 0.0
    for entry in entries:
        entry["starts_in_s"] = wait_s
        wait_s += (entry["iterations"] - entry["done"]) * (declared.boot_s + declared.run_s)
    newest = await farm.store.last_outcomes(RECENT)
    standing = await _standing(farm, name, newest)
    for entry in entries if standing["quarantine"] else ():
        if entry["doing"] == "waiting" and entry["reason"] != ProbeReason.CONTROL:
            entry["doing"] = "held by the quarantine"
    # What is older than the newest iterations of all testbeds is no news.
    oldest = newest[-1][1] if len(newest) == RECENT else 0.0
    troubles = await farm.store.troubles(name, standing["last_at"] or oldest, limit=1)
    return standing | {
        "builder": bench_builder(name),
        "boot_s": declared.boot_s,
        "run_s": declared.run_s,
        "queue": entries,
        "trouble": troubles[0].failure if troubles else None,
        "control": await control_view(farm, name),
    }


async def _standing(
    farm: Farm, testbed: str, newest: Sequence[tuple[str, float, str | None]]
) -> Json:
    """Whether a testbed's worker is there, how it was of late, and why it is held."""
    ends = [(at_s, failure) for name, at_s, failure in newest if name == testbed]
    return {
        "testbed": testbed,
        "nouns": (await item_on(farm, testbed)).nouns,
        "worker": await worker(farm, testbed_of(farm, testbed).worker),
        "quarantine": await quarantine_view(farm, testbed),
        "recent": len(ends),
        "failed": sum(failure is not None for _, failure in ends),
        "last_at": ends[0][0] if ends else None,
        "last_failure": next((failure for _, failure in ends if failure), None),
    }


async def worker(farm: Farm, name: str) -> Json:
    """Whether a worker is there and may work."""
    known = await farm.master.data.get(("workers", name)) or {}
    return {
        "name": name,
        "workerid": known.get("workerid"),
        "connected": bool(known.get("connected_to")),
        "paused": bool(known.get("paused")),
    }


async def _queue(farm: Farm, testbed: str, found: Waits) -> Sequence[ProbeRow]:
    """Open probes in the order in which they are booted; those that cannot be yet come last."""
    probes = [probe for probe in await farm.store.open_probes() if probe.testbed == testbed]
    at_work = [probe for probe in probes if probe.state is ProbeState.ISSUED]
    waiting = [probe for probe in probes if probe.state is ProbeState.NEW]
    last = len(found.places)
    return at_work + sorted(waiting, key=lambda probe: found.places.get(probe.id, last))


async def _entry(farm: Farm, probe: ProbeRow) -> Json:
    image = await farm.store.image(probe.image_id)
    rows = await farm.store.iterations_of_probe(probe.id)
    return {
        "probeid": probe.id,
        "label": image.label if image else "",
        "image": image.ordinal if image else 0,
        "workload": probe.workload,
        "reason": str(probe.reason),
        "searchid": probe.search_id,
        "iterations": probe.iterations,
        "done": sum(row.is_primary for row in rows),
        "priority": probe.priority,
        "since": probe.created_at,
        "brid": probe.brid,
        "doing": await _doing(farm, probe, image),
    }


async def _doing(farm: Farm, probe: ProbeRow, image: ImageRow | None) -> str:
    """`measuring`, or what it waits for."""
    if image is not None and image.state in UNBUILT:
        return f"waiting for its {(await item_on(farm, probe.testbed)).built}"
    if probe.brid is None:
        return "waiting"
    request = await farm.master.data.get(("buildrequests", str(probe.brid)))
    return "measuring" if request and request["claimed"] else "waiting"


_NOTHING = {"card": "", "sections": ""}


async def report_page(farm: Farm, search_id: int) -> Json | None:
    """The parts of the page as HTML, empty while a search runs; None without such a search."""
    search = await farm.store.search(search_id)
    if search is None:
        return None
    if search.ended_at is None:
        return _NOTHING
    if search.kind is not SearchKind.EFFECT:
        broken = await breakage_report(farm, search)
        return _NOTHING if broken is None else breakage_fragment(broken)
    return await calculate(report_fragment, await report_of(farm, search))


LISTED = 20
"""So many incidents and searches the overview has; it says how many there are."""
# So many boots are looked at for so many jobs.
_BOOTS, _JOBS = 60, 10


async def overview(farm: Farm) -> Json:
    """All of it; what it costs does not grow with the farm's past."""
    found = await grouped(farm, await farm.store.findings(READ, open_only=True))
    newest, views = await farm.store.last_outcomes(RECENT), SearchViews(farm)
    open_ones = [group for group in found if group.is_open]
    running = await farm.store.searches(states=OPEN_SEARCHES, limit=READ)
    return {
        "farm": farm.workflow.name,
        "incidents": [await incident_view(farm, group) for group in open_ones[:LISTED]],
        "open": len(open_ones),
        "searches": [await views.summarise(search) for search in running[:LISTED]],
        "running": len(running),
        "testbeds": [
            await _standing(farm, name, newest) for name in sorted(farm.workflow.testbeds)
        ],
        "measured": _jobs(await farm.store.newest_values(_BOOTS)),
    }


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
