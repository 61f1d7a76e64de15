"""The range of a search as a strip: what is known of each commit, as offsets from the old end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

from twisted.internet.threads import deferToThread

from buildbot_bench.core.search import Evidence, Suspect, forecast
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import ImageState
from buildbot_bench.plugin.evidence import Material, gather
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.pages.history import culprits_of
from buildbot_bench.plugin.views import cached_suspects

Json = dict[str, Any]


async def strip(farm: Farm, search_id: int) -> Json | None:
    """What was measured, built, found untestable or identical, who is suspected, what is left."""
    search = await farm.store.search(search_id)
    if search is None:
        return None
    material = await gather(farm, search)
    running = search.ended_at is None
    evidence = material.evidence
    suspects = await _suspects(material) if running else ()
    return {
        "searchid": search.id,
        "state": str(search.state),
        "commits": material.range.n,
        "unit": material.samples[0].metric.unit if material.samples else search.unit,
        "measured": _measured(evidence),
        "built": sorted(evidence.built),
        "building": _building(material),
        "untestable": sorted(evidence.untestable),
        "folded": sorted(evidence.same_as_previous),
        "suspects": [_suspect(material, suspect) for suspect in suspects],
        "culprits": await _culprits(farm, search),
        "left": await _left(farm, search, material, suspects) if running else None,
    }


def _measured(evidence: Evidence) -> list[Json]:
    values: dict[int, list[float]] = {}
    for measurement in evidence.measurements:
        values.setdefault(measurement.position, []).append(measurement.value)
    return [
        {"at": at, "n": len(of), "mean": fmean(of), "low": min(of), "high": max(of)}
        for at, of in sorted(values.items())
    ]


def _building(material: Material) -> list[int]:
    waiting = {ImageState.WANTED, ImageState.BUILDING}
    first = material.range.old.position
    return sorted({i.position - first for i in material.images.values() if i.state in waiting})


async def _suspects(material: Material) -> Sequence[Suspect]:
    """The likeliest first."""
    return await deferToThread(
        cached_suspects, material.range.n, material.evidence, material.costs, material.policy
    )


def _suspect(material: Material, suspect: Suspect) -> Json:
    """A step may lie in (old, new]."""
    revisions = material.range.revisions
    labels = {"after": revisions[suspect.old].label, "label": revisions[suspect.new].label}
    return asdict(suspect) | labels


async def _culprits(farm: Farm, search: SearchRow) -> list[Json]:
    return [
        {"at": m.position - search.old_position, "label": m.label, "effect": m.effect}
        for m in await culprits_of(farm, search)
    ]


async def _left(
    farm: Farm, search: SearchRow, material: Material, suspects: Sequence[Suspect]
) -> Json:
    """The median of what such a search takes, less what this one has had.

    When the ends are measured, the likeliest suspect says how large a step is looked for. A search
    that takes longer than the median has nothing left by this reckoning: 0, and `over`.
    """
    policy = material.policy
    effects = [abs(suspect.effect) for suspect in suspects[:1]]
    policy = replace(policy, claimed=max([*effects, policy.min_effect]))
    expected = await deferToThread(
        forecast, material.range.n, material.costs, policy, material.evidence
    )
    done, _ = await farm.store.progress(search.id)
    share = max(1 - done / expected.iterations[0], 0.0)
    return {
        "iterations": expected.iterations[0] * share,
        "images": expected.images[0] * share,
        "hours": expected.hours[0] * share,
        "over": share == 0.0,
    }
