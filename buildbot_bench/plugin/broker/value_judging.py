"""The judging of the named values of a commit's runs: together, and with one search for them.

A row is written of those values alone that are suspected, or were. The boots that they want are
asked for once: each gives all values.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from buildbot_bench.core.judge.model import Alarm, Remeasure, Suspicion, Verdict
from buildbot_bench.core.judge.together import judge_named
from buildbot_bench.plugin.broker.verdicts import (
    ask_again,
    bounded,
    policy_of,
    recorded,
    searched,
    unjudged,
)
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import ALARMS, JudgementState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import branch_of_image
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.queries.judgements import settled_of_values

_RUNS = 300
"""Runs that are judged by: the noise of 100 commits is known to 7 % of itself, and the judge
compares no more than constants.MEMORY of them."""
_JOINING = 100
"""Values of one commit that join its incident and are confirmed, those with the most information:
a mail has room for fewer, and each takes some 0.1 s."""
_AT_ONCE = 200  # rows; a transaction of them takes a tenth of a second


async def judge_values(farm: Farm, image: ImageRow, testbed: str, workload: str) -> None:
    """Judge the values that an image's runs gave by their names, where they gave any."""
    branch = await branch_of_image(farm, image)
    first = max(0, image.position - WINDOW_COMMITS)
    named = await farm.store.runs_of_values(
        testbed=testbed,
        workload=workload,
        first_position=first,
        last_position=image.position,
        branch=branch,
        limit=_RUNS,
    )
    if named is None or named.runs[-1].position != image.position:
        return
    rows = await farm.store.judgements_of_values(testbed, workload, image.sha, image.repository)
    suspected = [
        name
        for name, row in rows.items()
        if row.state is JudgementState.SUSPICION or not row.rounds
    ]
    if rows and not suspected:
        return  # judged already
    asked = {number for name in suspected for number in rows[name].grounds.probes}
    policy = await policy_of(farm, image, testbed, sorted(asked))
    policy = replace(policy, series=policy.series * len(named.metrics))
    settled = await settled_of_values(
        farm, testbed, workload, first, policy.min_effect, branch=branch
    )
    raised = sum(row.state in ALARMS for row in rows.values())
    verdicts = await calculate(judge_named, named, policy, settled, suspected, raised)
    units = {metric.name: metric.unit for metric in named.metrics}
    old = max((run.position for run in named.runs if run.position < image.position), default=None)
    blank = await unjudged(farm, image, branch, old, series=(testbed, workload), unit="")
    if new := {name: units[name] for name in verdicts if name not in rows}:
        rows |= await farm.store.ensure_judgements(blank, new, now=farm.now())
    found = {name: bounded(farm, one, rows[name], policy) for name, one in verdicts.items()}
    await _follow(farm, found, rows, image)


async def _follow(
    farm: Farm, verdicts: Mapping[str, Verdict], rows: Mapping[str, JudgementRow], image: ImageRow
) -> None:
    """Ask for what the verdicts want and have alarms searched, the clearest first."""
    suspicions = {name: one for name, one in verdicts.items() if isinstance(one, Suspicion)}
    probes = []
    for boots in _wanted(suspicions.values(), image.position):
        asking = min((rows[name] for name in suspicions), key=lambda row: row.id)
        probes.append(await ask_again(farm, boots, asking))
    numbers = [probe.id for probe in probes if probe]
    first: JudgementRow | None = None
    placed = {
        name: await _behind_known_steps(farm, rows[name].branch or "", one)
        if isinstance(one, Alarm)
        else one
        for name, one in verdicts.items()
    }
    changes: list[tuple[JudgementRow, dict[str, Any]]] = []
    for nth, (name, verdict) in enumerate(sorted(placed.items(), key=_information)):
        row, said = rows[name], verdict
        columns: dict[str, Any] = {"changed_at": farm.now()}
        if isinstance(verdict, Alarm) and nth < _JOINING:
            said, row = await searched(farm, verdict, row, row.unit)
            first = row if first is None and row.search_id else first
        elif isinstance(verdict, Alarm) and first and verdict.direction == "regression":
            columns["search_id"] = first.search_id
        probed = numbers if isinstance(said, Suspicion) else ()
        changes.append((row, columns | recorded(said, row, image, probed)))
    for start in range(0, len(changes), _AT_ONCE):  # others wait to write meanwhile
        await farm.store.change_all(changes[start : start + _AT_ONCE])


async def _behind_known_steps(farm: Farm, branch: str, alarm: Alarm) -> Alarm:
    """The alarm with an anchor behind the steps that were found before its change may have come.

    They are of other incidents, which it would join.
    """
    found = await farm.store.incidents_over(branch, alarm.anchor, alarm.first)
    places = [search.old_position + step.new for search in found for step in search.steps]
    anchor = max([alarm.anchor, *(place for place in places if place < alarm.first)])
    return replace(alarm, anchor=anchor)


def _wanted(suspicions: Iterable[Suspicion], newest: int) -> list[Remeasure]:
    """The boots that serve all: of the old side, where each names an anchor, the usual one's."""
    every = [one for suspicion in suspicions for one in suspicion.remeasure]
    usual = Counter((one.position, one.image) for one in every if one.position < newest)
    anchor = usual.most_common(1)[0][0] if usual else None
    wanted: dict[tuple[int, int], int] = {}
    for one in every:
        place = (one.position, one.image) if one.position == newest else anchor
        if place is not None:
            wanted[place] = max(wanted.get(place, 0), one.iterations)
    return [Remeasure(position=p, image=n, iterations=boots) for (p, n), boots in wanted.items()]


def _information(named: tuple[str, Verdict]) -> float:
    """The key that sorts alarms by their effect in terms of its interval, the clearest first."""
    match named[1]:
        case Alarm() as alarm:
            return -abs(alarm.effect) / max(alarm.high - alarm.low, 1e-9)
        case _:
            return 0.0
