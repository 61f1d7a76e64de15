"""Judgements, people's marks and the track record of culprits, as pages and REST show them."""

from __future__ import annotations

from typing import Any

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.report import Opinion, OpinionKind, TrackRecord
from buildbot_bench.plugin.db.finding_rows import JudgementRow, MarkRow
from buildbot_bench.plugin.db.states import JudgementState, MarkKind
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.history import revision_json

Json = dict[str, Any]


def mark_json(mark: MarkRow) -> Json:
    """A mark as the REST interface shows it."""
    return {
        "kind": str(mark.kind),
        "author": mark.author,
        "at": mark.at_s,
        "fixed_by": mark.fixed_label or "",
        "pending": mark.pending,
    }


def opinion_of(marks: list[MarkRow]) -> Opinion | None:
    """The last word; None when it was withdrawn."""
    if not marks or marks[-1].kind is MarkKind.WITHDRAWN:
        return None
    last = marks[-1]
    return Opinion(
        kind=OpinionKind(last.kind),
        author=last.author,
        at_s=last.at_s,
        fixed_by=last.fixed_label or "",
    )


async def track_record(farm: Farm) -> TrackRecord:
    """How often the culprits that this farm named were real; `again` is no judgement."""
    said = await farm.store.opinions()
    return TrackRecord(
        right=said.get(MarkKind.EXPECTED, 0) + said.get(MarkKind.FIXED, 0),
        wrong=said.get(MarkKind.NOISE, 0),
    )


async def record_json(farm: Farm) -> Json:
    """The record as the REST interface shows it."""
    record = await track_record(farm)
    low, high = record.interval
    return {
        "right": record.right,
        "wrong": record.wrong,
        "precision": record.precision,
        "low": low,
        "high": high,
    }


# A verdict that is nothing is told by the history's chart.
NOTABLE_STATES = (
    JudgementState.REGRESSION,
    JudgementState.SUSPICION,
    JudgementState.IMPROVEMENT,
    JudgementState.UNFIT,
)


async def verdicts(farm: Farm, limit: int) -> list[Json]:
    """The newest verdicts that are worth a look, newest first."""
    rows: list[JudgementRow] = []
    for state in NOTABLE_STATES:
        rows += await farm.store.judgements(state, limit=limit)
    newest = sorted(rows, key=lambda row: row.id, reverse=True)[:limit]
    marks = {mark.judgement_id: mark_json(mark) for mark in await farm.store.newest_marks()}
    return [
        verdict_json(row) | {"mark": marks.get(row.id)} | await farm.git(_named, farm, row)
        for row in newest
    ]


def verdict_json(row: JudgementRow) -> Json:
    """What was made of a sample, as the pages show it."""
    return {
        "judgementid": row.id,
        "testbed": row.testbed,
        "workload": row.workload,
        "branch": row.branch or "",
        "state": str(row.state),
        "effect": row.effect,
        "low": row.low,
        "high": row.high,
        "probability": row.probability,
        "rounds": row.rounds,
        "searchid": row.search_id,
        "position": row.new_position,
        "reason": row.grounds.reason,
        "at": row.changed_at,
    }


def _named(farm: Farm, row: JudgementRow) -> Json:
    """The revision that was judged; of one that a rewritten branch dropped, its hash alone."""
    try:
        return {"new": revision_json(farm.history.resolve(row.new_sha))}
    except UsageError:
        return {"new": {"label": row.new_sha[:10], "sha": row.new_sha, "subject": "", "author": ""}}


async def newest_judgements(farm: Farm, limit: int) -> list[Json]:
    """What was made of the newest samples, newest first."""
    return [_judgement_json(row) for row in await farm.store.judgements(limit=limit)]


async def judgement(farm: Farm, judgement_id: int) -> Json | None:
    """What was made of one sample, and what people said of that; None when there is none."""
    row = await farm.store.judgement(judgement_id)
    if row is None:
        return None
    marks = await farm.store.marks_of_judgement(judgement_id)
    return _judgement_json(row) | {"marks": [mark_json(mark) for mark in marks]}


def _judgement_json(row: JudgementRow) -> Json:
    return {
        "judgementid": row.id,
        "testbed": row.testbed,
        "workload": row.workload,
        "branch": row.branch or "",
        "old_sha": row.old_sha,
        "new_sha": row.new_sha,
        "state": str(row.state),
        "effect": row.effect,
        "low": row.low,
        "high": row.high,
        "p_value": row.p_value,
        "probability": row.probability,
        "searchid": row.search_id,
        "reason": row.grounds.reason,
        "at": row.changed_at,
    }
