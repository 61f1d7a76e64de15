"""The judging of new samples, with fresh boots for suspicions and searches for alarms."""

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.judge.decide import judge_by_history
from buildbot_bench.core.judge.model import (
    Alarm,
    JudgePolicy,
    Nothing,
    Remeasure,
    Suspicion,
    Unfit,
    Verdict,
)
from buildbot_bench.core.sample import Sample
from buildbot_bench.plugin.broker.ask import BuildTarget, ask_boots, ask_image
from buildbot_bench.plugin.broker.follow_ups import search_for
from buildbot_bench.plugin.db.finding_rows import JudgementRow, NewJudgement, VerdictGrounds
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.db.states import JudgementState, ProbeReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import (
    all_series,
    branch_of_image,
    branch_of_judgement,
    removal_reason,
)
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS, item_on, relinks_of
from buildbot_bench.plugin.queries.incidents import alarmed_elsewhere
from buildbot_bench.plugin.queries.judgements import settled_changes

# The judge's own rounds are fewer; more of them means that the lab does not answer.
MAX_ROUNDS = 12


class Judging:
    """Turns samples into judgements, suspicions into fresh boots and alarms into searches."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Judge what was measured since, and what was re-measured on suspicion."""
        store = self._farm.store
        await for_each(await store.unjudged_probes(), self._judge_probe, "the judgement of probe")
        suspicions = await store.judgements(state=JudgementState.SUSPICION)
        # Boots that the lab lost are asked for again for the same judgement.
        waiting = {probe.judgement_id for probe in await store.open_probes()}
        answered = [judgement for judgement in suspicions if judgement.id not in waiting]
        await for_each(answered, self._judge_again, "the judgement of suspicion")

    async def _judge_probe(self, probe: ProbeRow) -> None:
        image = await self._farm.store.image(probe.image_id)
        if image is not None and probe.failure is None:
            await self._judge(image, probe.testbed, probe.workload, None)
        await self._farm.store.change(probe, judged=True)

    async def _judge_again(self, judgement: JudgementRow) -> None:
        judged = judgement.grounds.image
        image = None if judged is None else await self._farm.store.image(judged)
        if image is not None:
            await self._judge(image, judgement.testbed, judgement.workload, judgement)

    async def _judge(
        self, image: ImageRow, testbed: str, workload: str, earlier: JudgementRow | None
    ) -> None:
        branch = await branch_of_image(self._farm, image)
        first = max(0, image.position - WINDOW_COMMITS)
        samples = await self._farm.store.samples(
            testbed=testbed,
            workload=workload,
            first_position=first,
            last_position=image.position,
            branch=branch,
        )
        new, history = split(samples, image)
        if new is None:
            return
        policy = await self._policy(image, branch, new, history, earlier)
        least = policy.min_effect
        settled = await settled_changes(self._farm, testbed, workload, first, least, branch=branch)
        verdict = await calculate(judge_by_history, history, new, policy, settled)
        if isinstance(verdict, Suspicion) and earlier and earlier.rounds >= MAX_ROUNDS:
            verdict = Unfit(
                comparison=verdict.comparison,
                reason=f"{earlier.rounds} rounds of fresh {policy.item.iteration}s did not confirm "
                "or refute it",
            )
        if isinstance(verdict, Suspicion) and (
            why := removal_reason(self._farm, testbed, workload, image.repository)
        ):
            verdict = Unfit(comparison=verdict.comparison, reason=why)
        row = earlier or await self._row(new, history, image, branch)
        if earlier is None and row.rounds:
            return  # judged already, by a master that died before it could say so
        await self._follow(verdict, row, image, new.metric.unit)

    async def _follow(
        self, verdict: Verdict, row: JudgementRow, image: ImageRow, unit: str
    ) -> None:
        """Ask for what a verdict wants, then write it down: a master may die between."""
        probes: list[ProbeRow | None] = []
        match verdict:
            case Suspicion():
                probes = [await self._ask(wanted, row) for wanted in verdict.remeasure]
            case Alarm(direction="regression") if why := removal_reason(
                self._farm, row.testbed, row.workload, row.repository
            ):
                verdict = replace(verdict, reason=f"{verdict.reason}; not searched: {why}")
            case Alarm(direction="regression"):
                linked = await search_for(
                    self._farm, row, anchor=verdict.anchor, claimed=verdict.effect, unit=unit
                )
                row = linked or row
            case Alarm() | Nothing() | Unfit():
                pass
        await self._record(verdict, row, image, [probe.id for probe in probes if probe])

    async def _policy(
        self,
        image: ImageRow,
        branch: str,
        new: Sample,
        history: Sequence[Sample],
        earlier: JudgementRow | None,
    ) -> JudgePolicy:
        """The workflow's thresholds; further images that cannot be made are not asked for again."""
        old = predecessor(history, new)
        asked = earlier.grounds.probes if earlier else ()
        probes = [await self._farm.store.probe(number) for number in asked]
        lost = any(probe is not None and probe.state == ProbeState.LOST for probe in probes)
        relinks = await relinks_of(self._farm, image.variant, image.position, image.repository)
        regression = self._farm.workflow.regression
        return JudgePolicy(
            confidence=regression.confidence,
            min_effect=self._farm.workflow.min_effect_on(new.testbed),
            higher_is_better=new.metric.higher_is_better,
            false_alarms_per_1000=regression.false_alarms,
            series=len(all_series(self._farm.workflow.bench_jobs)),
            corroborated=await alarmed_elsewhere(self._farm, new, old, branch=branch)
            if old
            else frozenset(),
            images=relinks.more and not lost,
            item=await item_on(self._farm, new.testbed),
        )

    async def _row(
        self, new: Sample, history: Sequence[Sample], image: ImageRow, branch: str
    ) -> JudgementRow:
        """The row of a sample and its predecessor; a new one says nothing yet."""
        store = self._farm.store
        old = predecessor(history, new)
        old_image = await store.image_at(branch, old.position) if old else None
        return await store.ensure_judgement(
            NewJudgement(
                testbed=new.testbed,
                workload=new.workload,
                unit=new.metric.unit,
                old_sha=old_image.sha if old_image else "",
                old_position=old.position if old else 0,
                new_sha=image.sha,
                new_position=image.position,
                state=JudgementState.NOTHING,
                branch=branch,
            ),
            now=self._farm.now(),
        )

    async def _record(
        self, verdict: Verdict, row: JudgementRow, image: ImageRow, probes: list[int]
    ) -> None:
        change = verdict if isinstance(verdict, Suspicion | Alarm) else None
        marked = verdict.effect if isinstance(verdict, Nothing) else None
        await self._farm.change(
            row,
            state=state_of(verdict),
            rounds=row.rounds + 1,
            effect=change.effect if change else marked,
            low=change.low if change else None,
            high=change.high if change else None,
            probability=change.probability if change else None,
            p_value=verdict.comparison.p_value if verdict.comparison else None,
            verdict=VerdictGrounds(
                image=image.id,
                probes=tuple(probes),
                reason=verdict.reason,
                began=verdict.began if isinstance(verdict, Alarm | Nothing) else None,
                anchor=verdict.anchor if isinstance(verdict, Alarm) else None,
                stated=verdict.probability if isinstance(verdict, Alarm) else row.grounds.stated,
            ),
        )

    async def _ask(self, wanted: Remeasure, judgement: JudgementRow) -> ProbeRow | None:
        branch = await branch_of_judgement(self._farm, judgement)
        known = await self._farm.store.image_at(branch, wanted.position)
        if known is None:
            return None
        revision = BuildTarget(
            sha=known.sha,
            position=known.position,
            label=known.label,
            repository=known.repository,
        )
        relinks = await relinks_of(self._farm, known.variant, known.position, known.repository)
        image = await ask_image(self._farm, revision, relinks.next(wanted.image))
        return await ask_boots(
            self._farm,
            image.id,
            (judgement.testbed, judgement.workload),
            ProbeReason.CONFIRM,
            wanted.iterations,
            judgement_id=judgement.id,
            serial=judgement.rounds,
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


def state_of(verdict: Verdict) -> JudgementState:
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
