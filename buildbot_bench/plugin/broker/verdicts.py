"""What the judges of one series and of named values share: policy, rows, boots and searches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.judge.model import (
    Alarm,
    JudgePolicy,
    Nothing,
    Remeasure,
    Suspicion,
    Unfit,
    Verdict,
)
from buildbot_bench.plugin.broker.ask import BuildTarget, ask_boots, ask_image
from buildbot_bench.plugin.broker.follow_ups import search_for
from buildbot_bench.plugin.db.columns import JudgementState, ProbeReason
from buildbot_bench.plugin.db.finding_rows import JudgementRow, NewJudgement, VerdictGrounds
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import all_series, branch_of_judgement, removal_reason
from buildbot_bench.plugin.queries.evidence import item_on, relinks_of

# The judge's own rounds are fewer; more of them means that the lab does not answer.
MAX_ROUNDS = 12


async def policy_of(farm: Farm, image: ImageRow, testbed: str, asked: Sequence[int]) -> JudgePolicy:
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


def bounded(farm: Farm, verdict: Verdict, row: JudgementRow, policy: JudgePolicy) -> Verdict:
    """The verdict, but for a suspicion that no boots will settle: that is unfit."""
    if not isinstance(verdict, Suspicion):
        return verdict
    why = removal_reason(farm, row.testbed, row.workload, row.repository)
    if not why and row.rounds >= MAX_ROUNDS:
        boots = f"{policy.item.iteration}s"
        why = f"{row.rounds} rounds of fresh {boots} did not confirm or refute it"
    return Unfit(comparison=verdict.comparison, reason=why) if why else verdict


async def searched(
    farm: Farm, alarm: Alarm, row: JudgementRow, unit: str
) -> tuple[Verdict, JudgementRow]:
    """Have a regression searched, where its series is still measured."""
    if alarm.direction != "regression":
        return alarm, row
    if why := removal_reason(farm, row.testbed, row.workload, row.repository):
        return replace(alarm, reason=f"{alarm.reason}; not searched: {why}"), row
    linked = await search_for(farm, row, anchor=alarm.anchor, claimed=alarm.effect, unit=unit)
    return alarm, linked or row


def recorded(
    verdict: Verdict, row: JudgementRow, image: ImageRow, probes: Sequence[int] = ()
) -> dict[str, Any]:
    """The columns of a row that say a verdict on an image and the boots that were asked for."""
    change = verdict if isinstance(verdict, Suspicion | Alarm) else None
    marked = verdict.effect if isinstance(verdict, Nothing) else None
    return {
        "state": state_of(verdict),
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


async def ask_again(farm: Farm, wanted: Remeasure, judgement: JudgementRow) -> ProbeRow | None:
    """Ask for the boots that a suspicion wants; None where its revision is not known any more."""
    branch = await branch_of_judgement(farm, judgement)
    known = await farm.store.image_at(branch, wanted.position)
    if known is None:
        return None
    revision = BuildTarget(
        sha=known.sha,
        position=known.position,
        label=known.label,
        repository=known.repository,
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
