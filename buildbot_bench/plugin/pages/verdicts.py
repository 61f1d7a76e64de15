"""All searches and verdicts with what came of them, in words that need no other page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.captures import flame_graphs_of_search
from buildbot_bench.plugin.db.finding_rows import ComparisonRow
from buildbot_bench.plugin.db.states import ComparisonState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.marking import mark_json
from buildbot_bench.plugin.pages.history import culprits_of
from buildbot_bench.plugin.views import Views, revision_json

Json = dict[str, Any]

# A verdict that is nothing is told by the history's chart.
TOLD = (
    ComparisonState.REGRESSION,
    ComparisonState.SUSPICION,
    ComparisonState.IMPROVEMENT,
    ComparisonState.UNFIT,
)


async def reports(farm: Farm, limit: int) -> list[Json]:
    """The newest searches, each with the steps that it found and who was told of them."""
    views = Views(farm)
    told = []
    for search in await farm.store.searches(limit=limit):
        mail = await farm.store.report_of_search(search.id)
        notices = await farm.store.notices_of_search(search.id)
        told.append(
            await views.summarise(search)
            | {
                "reason": str(search.reason),
                "detail": search.detail or (search.answer or {}).get("reason", ""),
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
    return told


async def verdicts(farm: Farm, limit: int) -> list[Json]:
    """The newest verdicts that are worth a look, newest first."""
    rows: list[ComparisonRow] = []
    for state in TOLD:
        rows += await farm.store.comparisons(state, limit=limit)
    newest = sorted(rows, key=lambda row: row.id, reverse=True)[:limit]
    marks = {mark.comparison_id: mark_json(mark) for mark in await farm.store.newest_marks()}
    return [
        _verdict(row) | {"mark": marks.get(row.id)} | await farm.git(_named, farm, row)
        for row in newest
    ]


def _verdict(row: ComparisonRow) -> Json:
    return {
        "comparisonid": row.id,
        "testbed": row.testbed,
        "workload": row.workload,
        "state": str(row.state),
        "effect": row.effect,
        "low": row.low,
        "high": row.high,
        "probability": row.probability,
        "rounds": row.rounds,
        "searchid": row.search_id,
        "position": row.new_position,
        "reason": (row.verdict or {}).get("reason", ""),
        "at": row.changed_at,
    }


def _named(farm: Farm, row: ComparisonRow) -> Json:
    """The revision that was judged; of one that a rewritten branch dropped, its hash alone."""
    try:
        return {"new": revision_json(farm.history.resolve(row.new_sha))}
    except UsageError:
        return {"new": {"label": row.new_sha[:10], "sha": row.new_sha, "subject": "", "author": ""}}
