"""The judging of new samples, with fresh boots for suspicions and searches for alarms."""

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.core.judge.decide import judge_by_history
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Suspicion, Verdict
from buildbot_bench.core.sample import Sample
from buildbot_bench.plugin.broker.value_judging import judge_values
from buildbot_bench.plugin.broker.verdicts import (
    ask_again,
    bounded,
    policy_of,
    recorded,
    searched,
    unjudged,
)
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, SeriesName
from buildbot_bench.plugin.db.states import JudgementState, ProbeReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import branch_of_image
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.queries.incidents import alarmed_elsewhere
from buildbot_bench.plugin.queries.judgements import settled_changes

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
            probes = [await ask_again(self._farm, wanted, row) for wanted in verdict.remeasure]
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
        policy = await policy_of(self._farm, image, new.testbed, asked)
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
