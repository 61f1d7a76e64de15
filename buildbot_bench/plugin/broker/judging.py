"""The judging of new samples: fresh boots for suspicions, searches for alarms."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.judge.decide import judge_by_history
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Remeasure, Suspicion, Verdict
from buildbot_bench.core.judge.together import judge_named
from buildbot_bench.core.sample import Sample
from buildbot_bench.plugin.broker.ask import BuildTarget, ask_boots, ask_image
from buildbot_bench.plugin.broker.follow_ups import bounded, searched
from buildbot_bench.plugin.db.columns import ALARMS, JudgementState, ProbeReason
from buildbot_bench.plugin.db.finding_rows import JudgementRow, NewJudgement
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import all_series, branch_of_image, branch_of_judgement
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS, item_on, relinks_of
from buildbot_bench.plugin.queries.incidents import alarmed_elsewhere
from buildbot_bench.plugin.queries.judgements import recorded, settled_changes, settled_of_values

# The named values of what a search boots are judged by the search.
_OF_COMMITS = frozenset({ProbeReason.COMMIT, ProbeReason.BACKFILL})


class Judging:
    """Turns samples into judgements, suspicions into fresh boots and alarms into searches."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Judge what was measured since, and what was re-measured on suspicion."""
        store = self._farm.store
        await for_each(await store.unjudged_probes(), self._judge_probe, "the judgement of probe")
        # Boots that the lab lost are asked for again for the same judgement.
        waiting = {probe.judgement_id for probe in await store.open_probes()}
        groups: dict[tuple[str, str, int | None, bool], list[JudgementRow]] = {}
        for row in await store.judgements(state=JudgementState.SUSPICION):
            values_of = (row.testbed, row.workload, row.grounds.image, bool(row.value))
            groups.setdefault(values_of, []).append(row)
        # The values of a run wait for the same boots: one of them asked.
        answered = [rows[0] for rows in groups.values() if not waiting & {row.id for row in rows}]
        await for_each(answered, self._judge_again, "the judgement of suspicion")

    async def _judge_probe(self, probe: ProbeRow) -> None:
        image = await self._farm.store.image(probe.image_id)
        if image is not None and probe.failure is None:
            is_settled = await self._judge(image, probe.series, None)
            if is_settled and probe.reason in _OF_COMMITS:
                await judge_values(self._farm, image, *probe.series)
        await self._farm.store.change(probe, judged=True)

    async def _judge_again(self, judgement: JudgementRow) -> None:
        judged = judgement.grounds.image
        image = None if judged is None else await self._farm.store.image(judged)
        if image is None:
            return
        if judgement.value or await self._judge(image, judgement.series, judgement):
            await judge_values(self._farm, image, *judgement.series)

    async def _judge(
        self, image: ImageRow, series: SeriesName, earlier: JudgementRow | None
    ) -> bool:
        """Judge what stands for a run; False while it wants boots, which serve its values too."""
        branch = await branch_of_image(self._farm, image)
        first = max(0, image.position - WINDOW_COMMITS)
        samples = await self._farm.store.samples(series, (first, image.position), branch=branch)
        new, history = split(samples, image)
        if new is None:
            return False
        policy = await self._policy(image, branch, new, history, earlier)
        least = policy.min_effect
        settled = await settled_changes(self._farm, series, first, least, branch=branch)
        verdict = await calculate(judge_by_history, history, new, policy, settled)
        old = predecessor(history, new)
        last = old.position if old else None
        blank = await unjudged(self._farm, image, branch, last, series=series, unit=new.metric.unit)
        row = earlier or await self._farm.store.ensure_judgement(blank, now=self._farm.now())
        if earlier is None and row.rounds:  # by a master that died before it could say so
            return row.state is not JudgementState.SUSPICION
        verdict = bounded(self._farm, verdict, row, policy)
        await self._follow(verdict, row, image, new.metric.unit)
        return not isinstance(verdict, Suspicion)

    async def _follow(
        self, verdict: Verdict, row: JudgementRow, image: ImageRow, unit: str
    ) -> None:
        """Ask for what a verdict wants, then write it down: a master may die between."""
        probes: list[ProbeRow | None] = []
        if isinstance(verdict, Suspicion):
            probes = [await _ask_again(self._farm, wanted, row) for wanted in verdict.remeasure]
        elif isinstance(verdict, Alarm):
            verdict, row = await searched(self._farm, verdict, row, unit)
        numbers = [probe.id for probe in probes if probe]
        await self._farm.change(row, **recorded(verdict, row, image, numbers))

    async def _policy(
        self,
        image: ImageRow,
        branch: str,
        new: Sample,
        history: Sequence[Sample],
        earlier: JudgementRow | None,
    ) -> JudgePolicy:
        asked = earlier.grounds.probes if earlier else ()
        policy = await _policy_of(self._farm, image, new.testbed, asked)
        old = predecessor(history, new)
        return replace(
            policy,
            higher_is_better=new.metric.higher_is_better,
            corroborated=await alarmed_elsewhere(self._farm, new, old, branch=branch)
            if old
            else frozenset(),
        )


def split(samples: Sequence[Sample], image: ImageRow) -> tuple[Sample | None, list[Sample]]:
    """The sample of an image, and all others of its metric and epoch."""
    new = next(
        (s for s in samples if (s.position, s.image) == (image.position, image.ordinal)), None
    )
    if new is None:
        return None, []
    history = [
        s for s in samples if s is not new and (s.metric, s.epoch) == (new.metric, new.epoch)
    ]
    return new, history


def predecessor(history: Sequence[Sample], new: Sample) -> Sample | None:
    """The nearest ancestor with a sample on the same testbed and workload."""
    earlier = [sample for sample in history if sample.position < new.position and sample.values]
    return max(earlier, key=lambda sample: sample.position, default=None)


_RUNS = 300
"""Runs that are judged by: the noise of 100 commits is known to 7 % of itself, and the judge
compares no more than constants.MEMORY of them."""
_JOINING = 100
"""Values of one commit that join its incident and are confirmed, those with the most information:
a mail has room for fewer, and each takes some 0.1 s."""
_AT_ONCE = 200  # rows; a transaction of them takes a tenth of a second


async def judge_values(farm: Farm, image: ImageRow, testbed: str, workload: str) -> None:
    """Judge the values that an image's runs gave by their names, where they gave any.

    They are judged together, with one search for them. A row is written of those values alone that
    are suspected, or were. The boots that they want are asked for once: each gives all values.
    """
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
    policy = await _policy_of(farm, image, testbed, sorted(asked))
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
        probes.append(await _ask_again(farm, boots, asking))
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


async def _policy_of(
    farm: Farm, image: ImageRow, testbed: str, asked: Sequence[int]
) -> JudgePolicy:
    """The workflow's thresholds; further images that cannot be made are not asked for again.

    `asked` are the requests of an earlier verdict. The named values of a workload's runs have the
    budget of one series, which they share.
    """
    probes = [await farm.store.probe(number) for number in asked]
    lost = any(probe is not None and probe.state == ProbeState.LOST for probe in probes)
    relinks = await relinks_of(farm, image.variant, image.position, image.repository)
    regression = farm.workflow.regression
    measured = all_series(farm.workflow.bench_jobs)
    suites = await farm.store.suites()
    return JudgePolicy(
        confidence=regression.confidence,
        min_effect=farm.workflow.min_effect_on(testbed),
        false_alarms_per_1000=regression.false_alarms,
        series=len(measured) + sum((one.testbed, one.workload) in suites for one in measured),
        images=relinks.more and not lost,
        item=await item_on(farm, testbed),
    )


async def unjudged(
    farm: Farm,
    image: ImageRow,
    branch: str,
    old_position: int | None,
    *,
    series: tuple[str, str],
    unit: str,
) -> NewJudgement:
    """The judgement of an image's sample and its predecessor, which says nothing yet."""
    old = None if old_position is None else await farm.store.image_at(branch, old_position)
    return NewJudgement(
        testbed=series[0],
        workload=series[1],
        unit=unit,
        old_sha=old.sha if old else "",
        old_position=old_position or 0,
        new_sha=image.sha,
        new_position=image.position,
        state=JudgementState.NOTHING,
        branch=branch,
    )


async def _ask_again(farm: Farm, wanted: Remeasure, judgement: JudgementRow) -> ProbeRow | None:
    """Ask for the boots that a suspicion wants; None where its revision is not known any more."""
    branch = await branch_of_judgement(farm, judgement)
    known = await farm.store.image_at(branch, wanted.position)
    if known is None:
        return None
    revision = BuildTarget(
        sha=known.sha, position=known.position, label=known.label, repository=known.repository
    )
    relinks = await relinks_of(farm, known.variant, known.position, known.repository)
    image = await ask_image(farm, revision, relinks.next(wanted.image))
    return await ask_boots(
        farm,
        image.id,
        (judgement.testbed, judgement.workload),
        ProbeReason.CONFIRM,
        wanted.iterations,
        judgement_id=judgement.id,
        serial=judgement.rounds,
    )
