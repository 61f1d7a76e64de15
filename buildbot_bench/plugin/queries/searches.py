"""Searches and their probes, as pages, REST and commands show them."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean

from buildbot_bench.api.answers import ForecastShown, Nouns, SearchSummary, SuspectShown
from buildbot_bench.core.json_model import Json, from_json, shared, to_json
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.search import Evidence, Suspect, suspects
from buildbot_bench.plugin.db.columns import OPEN_PROBES, UNBUILT, SearchKind
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.breakage_views import (
    breakage_json,
    breakage_report,
    breakage_strip,
    breakage_suspects,
    next_trial,
    recovery_json,
)
from buildbot_bench.plugin.queries.captures import flame_graphs_of_search
from buildbot_bench.plugin.queries.evidence import SearchInputs, gather_innermost, item_of_search
from buildbot_bench.plugin.queries.history import culprits_of, revision_shown
from buildbot_bench.plugin.queries.incident_groups import incident_json
from buildbot_bench.plugin.queries.judgements import mark_json
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.queries.waits import Waits, left, waits
from buildbot_bench.render.message import notice_text, report_text


class SearchViews:
    """Reads the tables for a reader."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._waits: Waits | None = None

    async def describe(self, search_id: int) -> Json | None:
        """A search as it stands, with its report when it has ended."""
        search = await self._farm.store.search(search_id)
        if search is None:
            return None
        self._waits = None
        summary = await self.summarise(search)
        if search.kind is not SearchKind.EFFECT:
            return summary | {"incident": []} | await self._breakage(search)
        inputs = await gather_innermost(self._farm, search)
        summary |= {"incident": await incident_json(self._farm, search)}
        if search.ended_at is not None:
            report = await report_of(self._farm, search)
            return summary | {
                "suspects": [],
                "now": search.detail or "",
                "report": to_json(report),
                "text": report_text(report),
            }
        found = await _suspects(inputs)
        labels = [revision.label for revision in inputs.range.revisions]
        return summary | {
            "suspects": [
                to_json(
                    SuspectShown(
                        old=labels[one.old],
                        new=labels[one.new],
                        probability=one.probability,
                        effect=one.effect,
                    )
                )
                for one in found
            ],
            "now": await self._activity(search, summary["waits_for"]),
            "report": None,
            "text": None,
        }

    async def _breakage(self, search: SearchRow) -> Json:
        """What a search for a breakage has in place of a report."""
        running = search.ended_at is None
        report = await breakage_report(self._farm, search)
        now = await next_trial(self._farm, search) if running else search.detail or ""
        return {
            "suspects": await breakage_suspects(self._farm, search) if running else [],
            "now": now,
            "report": None if report is None else to_json(report),
            "text": None if report is None else notice_text(report),
        }

    async def summarise(self, search: SearchRow) -> Json:
        """The part of a search's description that costs little."""
        iterations, images = await self._farm.store.progress(search.id)
        old, new = await self._farm.git(self._ends, search)
        marks = await self._farm.store.marks_of_search(search.id)
        shown = SearchSummary(
            searchid=search.id,
            **shared(SearchSummary, search)
            | {
                "forecast": search.forecast and from_json(ForecastShown, search.forecast),
                "breakage": await breakage_json(self._farm, search),
                "recovery": recovery_json(search.recovery),
            },
            old=revision_shown(old),
            new=revision_shown(new),
            commits=search.new_position - search.old_position,
            nouns=Nouns(**(await item_of_search(self._farm, search)).nouns),
            waits_for=await self._waits_for(search),
            iterations_done=iterations,
            images_built=images,
            marks=tuple(map(mark_json, marks)),
        )
        return to_json(shown)

    async def probes(self, search_id: int) -> list[Json] | None:
        """The probes of a search with what they gave, oldest first; None without such a search."""
        search = await self._farm.store.search(search_id)
        if search is None:
            return None
        rows = await self._farm.store.probes_of_search(search_id)
        return [
            await self._probe(probe, serial, search.value)
            for serial, probe in enumerate(rows, start=1)
        ]

    async def recent_probes(self, limit: int) -> list[Json]:
        """What the lab was asked for last, for any reason, newest first."""
        rows = await self._farm.store.recent_probes(limit)
        return [await self._probe(probe, probe.id) for probe in rows]

    async def _probe(self, probe: ProbeRow, serial: int, value: str = "") -> Json:
        image = await self._farm.store.image(probe.image_id)
        rows = await self._farm.store.iterations_of_probe(probe.id, value)
        iterations = [row for row in rows if row.is_primary]
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

    async def _waits_for(self, search: SearchRow) -> str:
        """What a search waits for; empty when it waits for nothing. A list asks for all at once."""
        if search.ended_at is not None:
            return ""
        self._waits = self._waits or await waits(self._farm)
        trouble = self._waits.workloads.get(search.series)
        return trouble or self._waits.searches.get(search.id, "")

    async def _activity(self, search: SearchRow, waits_for: str) -> str:
        """What is done for a search at this moment, in a few words."""
        where = "inside the merge: " if search.answers else ""
        for probe in reversed(await self._farm.store.probes_of_search(search.id)):
            image = await self._farm.store.image(probe.image_id)
            if probe.state in OPEN_PROBES and image is not None:
                if image.state in UNBUILT:
                    return f"{where}building {image.label} for {search.testbed}"
                return waits_for or f"{where}measuring {image.label} for {search.testbed}"
        return waits_for or f"{where}planning"

    def _ends(self, search: SearchRow) -> tuple[Revision, Revision]:
        history = self._farm.history
        return history.resolve(search.old_sha), history.resolve(search.new_sha)


async def strip(farm: Farm, search_id: int) -> Json | None:
    """What was measured, built, found untestable or identical, who is suspected, what is left."""
    search = await farm.store.search(search_id)
    if search is None:
        return None
    if search.kind is not SearchKind.EFFECT:
        return await breakage_strip(farm, search)
    inputs = await gather_innermost(farm, search)
    running = search.ended_at is None
    evidence = inputs.evidence
    likely = await _suspects(inputs) if running else ()
    return {
        "searchid": search.id,
        "state": str(search.state),
        "commits": inputs.range.n,
        "unit": inputs.samples[0].metric.unit if inputs.samples else search.unit,
        "higher_is_better": inputs.policy.higher_is_better,
        "measured": _measured(evidence),
        "works": [],
        "built": sorted(evidence.built),
        "building": _building(inputs),
        "untestable": sorted(evidence.untestable),
        "folded": sorted(evidence.same_as_previous),
        "suspects": [_suspect(inputs, suspect) for suspect in likely],
        "culprits": await _culprits(farm, search),
        "left": left(inputs) if running else None,
    }


def _measured(evidence: Evidence) -> list[Json]:
    values: dict[int, list[float]] = {}
    for measurement in evidence.measurements:
        values.setdefault(measurement.position, []).append(measurement.value)
    return [
        {"at": at, "n": len(of), "mean": fmean(of), "low": min(of), "high": max(of)}
        for at, of in sorted(values.items())
    ]


def _building(inputs: SearchInputs) -> list[int]:
    first = inputs.range.old.position
    return sorted({i.position - first for i in inputs.images.values() if i.state in UNBUILT})


async def _suspects(inputs: SearchInputs) -> Sequence[Suspect]:
    """The likeliest first."""
    return await calculate(suspects, inputs.range.n, inputs.evidence, inputs.costs, inputs.policy)


def _suspect(inputs: SearchInputs, suspect: Suspect) -> Json:
    """A step may lie in (old, new]."""
    revisions = inputs.range.revisions
    labels = {"after": revisions[suspect.old].label, "label": revisions[suspect.new].label}
    return asdict(suspect) | labels


async def _culprits(farm: Farm, search: SearchRow) -> list[Json]:
    return [
        {"at": m.position - search.old_position, "label": m.label, "effect": m.effect}
        for m in await culprits_of(farm, search)
    ]


async def reports(farm: Farm, limit: int) -> list[Json]:
    """The newest searches, each with the steps that it found and who heard of them."""
    views = SearchViews(farm)
    entries = []
    for search in await farm.store.searches(limit=limit):
        mail = await farm.store.report_of_search(search.id)
        notices = await farm.store.notices_of_search(search.id)
        entries.append(
            await views.summarise(search)
            | {
                "reason": str(search.reason),
                "detail": search.detail or (search.answer.reason if search.answer else ""),
                "culprits": [asdict(mark) for mark in await culprits_of(farm, search)],
                "flame_graphs": await flame_graphs_of_search(farm, search.id),
                "mail": str(mail.state) if mail else None,
                "notices": [
                    {
                        "kind": str(n.kind),
                        "target": n.target,
                        "state": str(n.state),
                        "error": n.last_error,
                    }
                    for n in notices
                    if n.target
                ],
            }
        )
    return entries
