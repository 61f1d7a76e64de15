"""Each testbed's state and queue, and the images that wait for a builder, for the Lab page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from buildbot_bench.api.states import ProbeState
from buildbot_bench.plugin.db.leases import BROKER
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.db.states import UNBUILT, ImageState, ProbeReason
from buildbot_bench.plugin.farm import Farm, bench_builder
from buildbot_bench.plugin.farm.series import first_branch, testbed_of, watched_branches
from buildbot_bench.plugin.queries.control_images import control_view, quarantine_view
from buildbot_bench.plugin.queries.evidence import item_of_farm, item_on
from buildbot_bench.plugin.queries.waits import Waits, waits

Json = dict[str, Any]

# How many of the newest iterations tell whether a testbed is well.
RECENT = 200


async def lab(farm: Farm) -> Json:
    """The testbeds with their queues, and the images that wait for a builder."""
    images = [
        *await farm.store.images(ImageState.BUILDING),
        *await farm.store.images(ImageState.WANTED),
    ]
    found = await waits(farm)
    return {
        "farm": farm.workflow.name,
        "branch": await first_branch(farm),
        "branches": list(await watched_branches(farm)),
        "testbeds": [await _testbed(farm, name, found) for name in sorted(farm.workflow.testbeds)],
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
    quarantine = await quarantine_view(farm, name)
    for entry in entries if quarantine else ():
        if entry["doing"] == "waiting" and entry["reason"] != ProbeReason.CONTROL:
            entry["doing"] = "held by the quarantine"
    newest = await farm.store.last_outcomes(RECENT)
    outcomes = [outcome for outcome in newest if outcome[0] == name]
    return {
        "testbed": name,
        "builder": bench_builder(name),
        "worker": await worker(farm, declared.worker),
        "boot_s": declared.boot_s,
        "run_s": declared.run_s,
        "queue": entries,
        "recent": len(outcomes),
        "failed": sum(failure is not None for _, _, failure in outcomes),
        "last_at": outcomes[0][1] if outcomes else None,
        "last_failure": next((failure for _, _, failure in outcomes if failure), None),
        "trouble": await _trouble(farm, name, newest),
        "control": await control_view(farm, name),
        "quarantine": quarantine,
        "nouns": (await item_on(farm, name)).nouns,
    }


async def _trouble(
    farm: Farm, testbed: str, newest: Sequence[tuple[str, float, str | None]]
) -> str | None:
    """Why the newest job of a testbed gave nothing; None when one gave something since."""
    ends = [at_s for name, at_s, _ in newest if name == testbed]
    # What is older than the newest iterations of all testbeds is no news.
    oldest = newest[-1][1] if len(newest) == RECENT else 0.0
    rows = await farm.store.troubles(testbed, ends[0] if ends else oldest, limit=1)
    return rows[0].failure if rows else None


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
