"""Consequences of people's marks: verdicts judged anew, open searches and boots ended."""

from __future__ import annotations

from dataclasses import replace

from buildbot_bench.api.states import SearchState
from buildbot_bench.plugin.broker.ask import cancel_probes
from buildbot_bench.plugin.db.finding_rows import JudgementRow, MarkRow, SearchRow
from buildbot_bench.plugin.db.states import (
    ALARMS,
    OPEN_PROBES,
    JudgementState,
    MarkKind,
    SearchReason,
)
from buildbot_bench.plugin.farm import Farm

_OPEN = {*ALARMS, JudgementState.SUSPICION}


async def take_up(farm: Farm, mark: MarkRow) -> None:
    """Have the verdicts that a mark is about judged anew, with it or, withdrawn, without.

    What was expected stays the alarm that it was: only what is still open of it ends.
    """
    rows = await _verdicts(farm, mark)
    for row in rows:
        await _end_open(farm, row, mark)
        if _is_judged_anew(row, mark):
            await _judge_anew(farm, row, mark)


def _is_judged_anew(row: JudgementRow, mark: MarkRow) -> bool:
    if row.grounds.image is None:
        return False
    match mark.kind:
        case MarkKind.NOISE:
            return row.state in _OPEN
        case MarkKind.WITHDRAWN:
            return row.state is not JudgementState.SUSPICION
        case _:
            return False


async def _judge_anew(farm: Farm, row: JudgementRow, mark: MarkRow) -> None:
    """Make it a suspicion that waits for no boots: the judge looks at it in the same cycle."""
    what = "withdrew what was said" if mark.kind is MarkKind.WITHDRAWN else f"says {mark.kind}"
    reason = f"{mark.author} {what}"
    verdict = replace(row.grounds, probes=(), reason=reason)
    await farm.store.change(
        row, changed_at=farm.now(), state=JudgementState.SUSPICION, verdict=verdict
    )


async def _end_open(farm: Farm, row: JudgementRow, mark: MarkRow) -> None:
    """Call off the fresh boots of a suspicion, and the search that runs for this alarm alone."""
    if mark.kind is MarkKind.WITHDRAWN:
        return
    said = f"{mark.author} says {mark.kind}"
    if row.state is JudgementState.SUSPICION:
        probes = [await farm.store.probe(number) for number in row.grounds.probes]
        waiting = [probe for probe in probes if probe is not None and probe.state in OPEN_PROBES]
        await cancel_probes(farm, waiting, said)
    search = await farm.store.search(row.search_id) if row.search_id else None
    if search is not None and await _is_for_it_alone(farm, search, row):
        await farm.store.change(search, state=SearchState.CANCELLING, detail=said)
        farm.wake()


async def _is_for_it_alone(farm: Farm, search: SearchRow, row: JudgementRow) -> bool:
    if search.state is not SearchState.RUNNING or search.reason is not SearchReason.ALARM:
        return False
    others = [
        other
        for other in await farm.store.judgements_of_search(search.id)
        if other.id != row.id and other.state in ALARMS
    ]
    return not others


async def _verdicts(farm: Farm, mark: MarkRow) -> list[JudgementRow]:
    if mark.search_id is not None:
        return list(await farm.store.judgements_of_search(mark.search_id))
    row = await farm.store.judgement(mark.judgement_id) if mark.judgement_id else None
    return [row] if row else []
