"""Consequences of alarms and of people's doubts: searches, or fresh boots of both sides."""

from dataclasses import replace

from twisted.logger import Logger

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Suspicion, Unfit, Verdict
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.plugin.broker.alarms import search_of
from buildbot_bench.plugin.broker.ask import ask_boots, ask_image, built_for, cancel_probes
from buildbot_bench.plugin.db.columns import (
    ALARMS,
    OPEN_PROBES,
    OPEN_SEARCHES,
    JudgementState,
    MarkKind,
    ProbeReason,
    SearchReason,
)
from buildbot_bench.plugin.db.finding_rows import (
    JudgementRow,
    MarkRow,
    NewSearch,
    RaisedAlarm,
    SearchRow,
    SeriesRange,
    VerdictGrounds,
)
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import (
    branch_of_judgement,
    held_testbeds,
    least_loaded,
    removal_reason,
    series_at,
    testbed_of,
)
from buildbot_bench.plugin.queries.evidence import span_of

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
    await farm.change(row, state=JudgementState.SUSPICION, verdict=verdict)


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


_LOG = Logger()

# Of what a person doubts: as many as ministat wants before it trusts a spread.
_BOOTS_AGAIN = 5


async def search_for(
    farm: Farm, judgement: JudgementRow, *, anchor: int, claimed: float, unit: str
) -> JudgementRow | None:
    """Start the search for what an alarm saw, or link the alarm to the search that saw it too.

    `anchor` is a position before the change, `claimed` its effect in `unit`, a fraction.
    Gives the linked row; None when the anchor is unknown, or another master was quicker.
    """
    branch = await branch_of_judgement(farm, judgement)
    before = await farm.store.image_at(branch, anchor)
    if before is None:
        return None
    higher_is_better = await farm.store.direction_of(judgement.series, unit)
    if judgement.value:
        metric = await farm.store.metric_of(judgement.series, judgement.value)
        higher_is_better = metric.higher_is_better
    raised = RaisedAlarm(
        **shared(SeriesRange, judgement)
        | {"unit": unit, "old_sha": before.sha, "old_position": before.position},
        claimed=claimed,
        judgement_id=judgement.id,
        higher_is_better=higher_is_better,
    )
    # Judged anew, and a master that dies here finds it again.
    key, again = f"alarm:{judgement.id}", str(judgement.rounds)
    search = await search_of(farm, raised, key=key, branch=branch, again=again)
    return await farm.change(judgement, search_id=search.id)


class Remeasuring:
    """Sees to what people say; what a master that dies has asked for, it asks no more."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look at each open wish."""
        await for_each(await self._farm.store.pending_marks(), self._see_to, "the wish of mark")

    async def _see_to(self, mark: MarkRow) -> None:
        store = self._farm.store
        if mark.kind is not MarkKind.AGAIN:
            await take_up(self._farm, mark)
        elif mark.search_id is not None:
            search = await store.search(mark.search_id)
            if search is not None and not self._is_removed(mark, search):
                await self._search_again(mark, search)
        elif mark.judgement_id is not None:
            row = await store.judgement(mark.judgement_id)
            if row is not None and not self._is_removed(mark, row):
                await self._confirm_again(mark, row)
        await store.change(mark, pending=False)

    def _is_removed(self, mark: MarkRow, doubted: SearchRow | JudgementRow) -> bool:
        """Whether there is nothing any more to boot on."""
        why = removal_reason(self._farm, doubted.testbed, doubted.workload, doubted.repository)
        if why:
            _LOG.info(
                "bench: nothing is measured again for {author}: {reason}",
                author=mark.author,
                reason=why,
            )
        return bool(why)

    async def _search_again(self, mark: MarkRow, doubted: SearchRow) -> None:
        """Search the range anew, from what is known and fresh boots next to what was found."""
        search = await self._farm.store.add_search(
            NewSearch(
                key=f"again:{mark.id}",
                branch=doubted.branch,
                **shared(RaisedAlarm, doubted),
                min_effect=doubted.min_effect,
                error=doubted.error,
                reason=SearchReason.PERSON,
                requester=mark.author,
                fix_sha=doubted.fix_sha,
                fix_patch=doubted.fix_patch,
                tunables=doubted.tunables,
                first_parent=doubted.first_parent,
            ),
            now=self._farm.now(),
        )
        span = await self._farm.git(span_of, self._farm, doubted)
        for position in doubted_positions(doubted, span):
            wanted = await built_for(self._farm, search, span.revisions[position])
            await ask_boots(
                self._farm,
                (await ask_image(self._farm, wanted)).id,
                search.series,
                ProbeReason.SEARCH,
                _BOOTS_AGAIN,
                search_id=search.id,
                tunables=search.tunables,
                name=f"mark {mark.id}: position {position}",
            )

    async def _confirm_again(self, mark: MarkRow, row: JudgementRow) -> None:
        """Make the verdict a suspicion, which the judge looks at when the fresh boots are there."""
        store = self._farm.store
        branch = await branch_of_judgement(self._farm, row)
        judged = await store.image_at(branch, row.new_position)
        before = await store.image_at(branch, row.old_position) if row.old_sha else None
        if judged is None:
            return
        asked = [await self._boot(mark, row, image) for image in (before, judged) if image]
        known = row.verdict or VerdictGrounds(image=judged.id)
        await self._farm.change(
            row,
            state=JudgementState.SUSPICION,
            verdict=replace(
                known, probes=tuple(asked), reason=f"{mark.author} wants it measured again"
            ),
        )

    async def _boot(self, mark: MarkRow, row: JudgementRow, image: ImageRow) -> int:
        series, name = (row.testbed, row.workload), f"mark {mark.id}: image {image.id}"
        probe = await ask_boots(
            self._farm,
            image.id,
            series,
            ProbeReason.CONFIRM,
            _BOOTS_AGAIN,
            judgement_id=row.id,
            name=name,
        )
        return probe.id


def doubted_positions(search: SearchRow, span: RevisionRange) -> tuple[int, int]:
    """The two sides of the largest step that a search found, or else the ends of its range."""
    largest = max(search.steps, key=lambda step: abs(step.effect), default=None)
    return (0, span.n) if largest is None else (largest.old, largest.new)


NEWS_S = 28 * 24 * 3600.0
"""An improvement that the lab had no time for in four weeks is left alone: it is no news."""
_LISTED = 50  # candidates, of which the first that may be searched is


class Improvements:
    """Starts the search for an improvement alarm, or links it to one that explains it."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look for the oldest improvement whose testbed idles."""
        farm = self._farm
        if not farm.workflow.regression.improvements:
            return
        since_s = farm.now() - NEWS_S
        for row in await farm.store.unsearched_improvements(since_s, _LISTED):
            if await self._may_be_searched(row):
                await self._search(row)
                return  # the lab has something to do now

    async def _search(self, row: JudgementRow) -> None:
        anchor, effect = row.grounds.anchor, row.effect
        if anchor is not None and effect is not None:
            await search_for(self._farm, row, anchor=anchor, claimed=effect, unit=row.unit)
            self._farm.wake()

    async def _may_be_searched(self, row: JudgementRow) -> bool:
        """Whether it can be, nobody knows of it already, and its testbed has nothing to do."""
        if row.grounds.anchor is None or row.effect is None:
            return False  # an older release's alarm
        if removal_reason(self._farm, row.testbed, row.workload, row.repository):
            return False
        marks = await self._farm.store.marks_of_judgement(row.id)
        if marks and marks[-1].kind in {MarkKind.EXPECTED, MarkKind.NOISE}:
            return False
        series = series_at(self._farm, row.testbed, row.workload)
        return await self._is_idle(await least_loaded(self._farm, series))

    async def _is_idle(self, testbed: str) -> bool:
        """Whether neither a search nor any boot is wanted of a testbed's worker."""
        farm = self._farm
        if testbed in await held_testbeds(farm):
            return False
        worker = testbed_of(farm, testbed).worker
        active = await farm.store.searches(states=OPEN_SEARCHES)
        wanted = {search.testbed for search in active}
        for state in OPEN_PROBES:
            wanted |= {probe.testbed for probe in await farm.store.probes(state=state)}
        return all(testbed_of(farm, name).worker != worker for name in wanted if name)


# The judge's own rounds are fewer; more of them means that the lab does not answer.
MAX_ROUNDS = 12


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
