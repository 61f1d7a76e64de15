"""How searches and their probes are shown to people and programs; it changes nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from twisted.internet.threads import deferToThread

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.search import suspects
from buildbot_bench.plugin.db.rows import ComparisonRow, ProbeRow, SearchRow
from buildbot_bench.plugin.db.states import ProbeState
from buildbot_bench.plugin.evidence import gather
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.marking import mark_json
from buildbot_bench.plugin.reporting import report_of
from buildbot_bench.render.text import report_text

Json = dict[str, Any]

OPEN_STATES = frozenset({ProbeState.NEW, ProbeState.ISSUED})


def revision_json(revision: Revision) -> Json:
    """A revision as the REST interface shows it."""
    return {
        "label": revision.label,
        "sha": revision.sha,
        "position": revision.position,
        "subject": revision.subject,
        "author": revision.author,
    }


# Several people who follow one search ask the same question each second.
cached_suspects = lru_cache(maxsize=32)(suspects)


class Views:
    """Reads the tables for whoever looks."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def describe(self, search_id: int) -> Json | None:
        """A search as it stands, with its report when it has ended."""
        search = await self._farm.store.search(search_id)
        if search is None:
            return None
        material = await gather(self._farm, search)
        summary = await self.summarise(search)
        if search.ended_at is not None:
            report = await report_of(self._farm, search)
            return summary | {
                "suspects": [],
                "now": search.detail or "",
                "report": to_json(report),
                "text": report_text(report),
            }
        found = await deferToThread(
            cached_suspects,
            material.range.n,
            material.evidence,
            material.costs,
            material.policy,
        )
        labels = [revision.label for revision in material.range.revisions]
        return summary | {
            "suspects": [
                {
                    "old": labels[suspect.old],
                    "new": labels[suspect.new],
                    "probability": suspect.probability,
                    "effect": suspect.effect,
                }
                for suspect in found
            ],
            "now": await self._activity(search),
            "report": None,
            "text": None,
        }

    async def summarise(self, search: SearchRow) -> Json:
        """The part of a search's description that costs little."""
        iterations, images = await self._farm.store.progress(search.id)
        old, new = await self._farm.git(self._ends, search)
        return {
            "searchid": search.id,
            "state": str(search.state),
            "testbed": search.testbed,
            "workload": search.workload,
            "unit": search.unit,
            "old": revision_json(old),
            "new": revision_json(new),
            "commits": search.new_position - search.old_position,
            "created_at": search.created_at,
            "ended_at": search.ended_at,
            "requester": search.requester,
            "iterations_done": iterations,
            "images_built": images,
            "forecast": search.forecast,
            "marks": [mark_json(m) for m in await self._farm.store.marks_of_search(search.id)],
        }

    async def probes(self, search_id: int) -> list[Json] | None:
        """The probes of a search with what they gave, oldest first; None without such a search."""
        if await self._farm.store.search(search_id) is None:
            return None
        rows = await self._farm.store.probes_of_search(search_id)
        return [await self._probe(probe, serial) for serial, probe in enumerate(rows, start=1)]

    async def recent_probes(self, limit: int) -> list[Json]:
        """What the lab was asked for last, for whatever reason, newest first."""
        rows = await self._farm.store.recent_probes(limit)
        return [await self._probe(probe, probe.id) for probe in rows]

    async def comparisons(self, limit: int) -> list[Json]:
        """What was made of the newest samples, newest first."""
        return [_comparison(row) for row in await self._farm.store.comparisons(limit=limit)]

    async def comparison(self, comparison_id: int) -> Json | None:
        """What was made of one sample, and what people said of that; None when there is none."""
        row = await self._farm.store.comparison(comparison_id)
        if row is None:
            return None
        marks = await self._farm.store.marks_of_comparison(comparison_id)
        return _comparison(row) | {"marks": [mark_json(mark) for mark in marks]}

    async def _probe(self, probe: ProbeRow, serial: int) -> Json:
        image = await self._farm.store.image(probe.image_id)
        iterations = [
            row for row in await self._farm.store.iterations_of_probe(probe.id) if row.is_primary
        ]
        return {
            "probeid": probe.id,
            "serial": serial,
            "label": image.label if image else "",
            "position": image.position if image else None,
            "image": image.ordinal if image else 0,
            "image_state": str(image.state) if image else "",
            "testbed": probe.testbed,
            "workload": probe.workload,
            "reason": str(probe.reason),
            "searchid": probe.search_id,
            "state": str(probe.state),
            "iterations": probe.iterations,
            "values": [row.value for row in iterations if row.value is not None],
            "unit": next((row.unit for row in iterations if row.unit), ""),
            "failure": probe.failure
            or next((row.failure for row in iterations if row.failure), None),
            "at": probe.ended_at or probe.issued_at or probe.created_at,
            "duration_s": sum(row.duration_s for row in iterations),
        }

    async def _activity(self, search: SearchRow) -> str:
        """What is done for a search at this moment, in a few words."""
        for probe in reversed(await self._farm.store.probes_of_search(search.id)):
            image = await self._farm.store.image(probe.image_id)
            if probe.state in OPEN_STATES and image is not None:
                verb = "building" if image.state in {"wanted", "building"} else "measuring"
                return f"{verb} {image.label} for {search.testbed}"
        return "planning"

    def _ends(self, search: SearchRow) -> tuple[Revision, Revision]:
        history = self._farm.history
        return history.resolve(search.old_sha), history.resolve(search.new_sha)


def _comparison(row: ComparisonRow) -> Json:
    return {
        "comparisonid": row.id,
        "testbed": row.testbed,
        "workload": row.workload,
        "old_sha": row.old_sha,
        "new_sha": row.new_sha,
        "state": str(row.state),
        "effect": row.effect,
        "low": row.low,
        "high": row.high,
        "p_value": row.p_value,
        "probability": row.probability,
        "searchid": row.search_id,
        "reason": (row.verdict or {}).get("reason", ""),
        "at": row.changed_at,
    }
