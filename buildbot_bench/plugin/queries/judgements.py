"""Judgements as REST shows them and as rows keep them; settled changes with people's marks."""

from collections.abc import Iterable, Sequence
from typing import Any

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import comparable_samples
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.judge.model import (
    Alarm,
    Nothing,
    Said,
    Settled,
    Suspicion,
    Unfit,
    Verdict,
    is_small,
)
from buildbot_bench.core.judge.segment import describe_marks, noise_by_marks
from buildbot_bench.core.report.context import Opinion, OpinionKind, TrackRecord
from buildbot_bench.plugin.db.columns import JudgementState, MarkKind
from buildbot_bench.plugin.db.commits import Segment, is_on
from buildbot_bench.plugin.db.finding_rows import JudgementRow, MarkRow, VerdictGrounds
from buildbot_bench.plugin.db.rows import ImageRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.queries.history import revision_json


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
    return _made_of(row) | {"rounds": row.rounds, "position": row.new_position}


def _made_of(row: JudgementRow) -> Json:
    return {
        "judgementid": row.id,
        "testbed": row.testbed,
        "workload": row.workload,
        "value": row.value,
        "branch": row.branch or "",
        "state": str(row.state),
        "effect": row.effect,
        "low": row.low,
        "high": row.high,
        "probability": row.probability,
        "searchid": row.search_id,
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
    ends = {"old_sha": row.old_sha, "new_sha": row.new_sha}
    return _made_of(row) | ends | {"p_value": row.p_value}


async def settled_changes(
    farm: Farm,
    series: SeriesName,
    first_position: int,
    min_effect: float,
    *,
    branch: str,
) -> list[Settled]:
    """The changes of a series on a branch that were dealt with, with what people said of them.

    They are alarms, what fresh boots denied or showed to be small, and what was marked. An alarm of
    before the tables kept where the level began counts from the revision judged.
    """
    rows = await farm.store.closed_judgements(series, first_position, branch)
    return _settled(rows, await marked_changes(farm, series, branch), min_effect)


async def settled_of_values(
    farm: Farm,
    testbed: str,
    workload: str,
    first_position: int,
    min_effect: float,
    *,
    branch: str,
) -> dict[str, list[Settled]]:
    """The same of the named values of a workload's runs, by those names that have any."""
    rows: dict[str, list[JudgementRow]] = {}
    closed = farm.store.closed_judgements
    for row in await closed((testbed, workload), first_position, branch, value=None):
        rows.setdefault(row.value, []).append(row)
    marked = await _marked_by_value(farm, (testbed, workload), branch, None)
    return {name: _settled(its, marked.get(name, []), min_effect) for name, its in rows.items()}


def _settled(
    rows: Sequence[JudgementRow], marked: list[Settled], min_effect: float
) -> list[Settled]:
    said = {one.began for one in marked}
    alarms = [
        Settled(
            began=row.grounds.began or row.new_position,
            judged=row.new_position,
            small=row.state == JudgementState.NOTHING and is_small(row.effect, min_effect),
        )
        for row in rows
        if row.grounds.began is not None or row.state != JudgementState.NOTHING
    ]
    return [one for one in alarms if one.began not in said] + marked


async def marked_changes(
    farm: Farm, series: SeriesName, branch: str, value: str = ""
) -> list[Settled]:
    """The changes of a series on a branch that were expected, or noise, as the last word has it."""
    return (await _marked_by_value(farm, series, branch, value)).get(value, [])


async def _marked_by_value(
    farm: Farm, series: SeriesName, branch: str, value: str | None
) -> dict[str, list[Settled]]:
    """The same by the names of values, of all that have one where `value` is None."""
    marks = await farm.store.marks_on_series(series, value)
    line = await farm.store.line_of(branch) if marks else ()
    found: dict[str, list[Settled]] = {}
    for mark in marks:
        for name, its in (await _said_of(farm, mark, series, value, line)).items():
            found.setdefault(name, []).extend(its)
    return {
        name: sorted(its, key=lambda one: (one.began, one.judged)) for name, its in found.items()
    }


async def said(farm: Farm, *kinds: MarkKind) -> frozenset[int]:
    """The searches of which the last word is of these kinds."""
    return frozenset(
        mark.search_id
        for mark in await farm.store.newest_marks()
        if mark.search_id is not None and mark.kind in kinds
    )


async def _said_of(
    farm: Farm,
    mark: MarkRow,
    series: SeriesName,
    value: str | None,
    line: Sequence[Segment],
) -> dict[str, list[Settled]]:
    """What a mark says of each value: each sure step of a search; without one, its alarms."""
    if mark.judgement_id is not None:
        row = await farm.store.judgement(mark.judgement_id)
        return {row.value: _of_verdicts([row], mark, line)} if row else {}
    search = await farm.store.search(mark.search_id) if mark.search_id else None
    if search is None:
        return {}
    sure = [step for step in search.steps if step.is_sure(search.error)]
    steps = [
        _marked(mark, search.old_position + step.old + 1, search.old_position + step.new)
        for step in sure
        if is_on(line, search.branch, search.old_position + step.new)
    ]
    if value is not None and sure:
        return {value: steps}
    own: dict[str, list[JudgementRow]] = {}
    for row in await farm.store.judgements_of_search(search.id):
        if row.series == series:
            own.setdefault(row.value, []).append(row)
    if not sure:
        return {name: _of_verdicts(its, mark, line) for name, its in own.items()}
    members = await farm.store.series_of_incident(search.id)
    confirmed = [one for one in members if one.standing is Standing.CONFIRMED]
    here = {one.value for one in (search, *confirmed) if one.series == series}
    return dict.fromkeys(here | own.keys(), steps)


def _of_verdicts(
    rows: Iterable[JudgementRow], mark: MarkRow, line: Sequence[Segment]
) -> list[Settled]:
    return [
        _marked(mark, row.grounds.began or row.new_position, row.new_position)
        for row in rows
        if row.branch is None or is_on(line, row.branch, row.new_position)
    ]


def _marked(mark: MarkRow, began: int, judged: int) -> Settled:
    return Settled(said=Said(mark.kind), began=began, judged=judged, author=mark.author)


async def marks_told(farm: Farm, series: SeriesName, branch: str, position: int) -> tuple[str, ...]:
    """What people said of a series' changes up to a position, a sentence each; mostly nothing."""
    first = max(0, position - WINDOW_COMMITS)
    marked = [
        one for one in await marked_changes(farm, series, branch) if first <= one.began <= position
    ]
    if not marked:
        return ()
    samples = await farm.store.samples(series, (first, position), branch=branch)
    begun = {
        one.began: await farm.store.images_of_history(branch, one.began, one.began)
        for one in marked
    }
    labels = {position: images[-1].label for position, images in begun.items() if images}
    spread = await calculate(noise_by_marks, comparable_samples(samples), marked)
    return describe_marks(marked, labels, spread, workload=series[1], testbed=series[0])


def recorded(
    verdict: Verdict, row: JudgementRow, image: ImageRow, probes: Sequence[int] = ()
) -> dict[str, Any]:
    """The columns of a row that say a verdict on an image and the boots that were asked for."""
    change = verdict if isinstance(verdict, Suspicion | Alarm) else None
    marked = verdict.effect if isinstance(verdict, Nothing) else None
    return {
        "state": _state_of(verdict),
        "rounds": row.rounds + 1,
        "effect": change.effect if change else marked,
        "low": change.low if change else None,
        "high": change.high if change else None,
        "probability": change.probability if change else None,
        "p_value": verdict.comparison.p_value if verdict.comparison else None,
        "verdict": VerdictGrounds(
            image=image.id,
            probes=tuple(probes),
            reason=verdict.reason,
            began=verdict.began if isinstance(verdict, Alarm | Nothing) else None,
            anchor=verdict.anchor if isinstance(verdict, Alarm) else None,
            stated=verdict.probability if isinstance(verdict, Alarm) else row.grounds.stated,
        ),
    }


def _state_of(verdict: Verdict) -> JudgementState:
    """The word for a verdict in the tables."""
    match verdict:
        case Suspicion():
            return JudgementState.SUSPICION
        case Alarm():
            return JudgementState(verdict.direction)
        case Unfit():
            return JudgementState.UNFIT
        case Nothing():
            return JudgementState.NOTHING
