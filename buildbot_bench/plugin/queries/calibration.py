"""What became of the verdicts of a farm, and of the budget of each series."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping

from buildbot_bench.api.answers import AbTestState, SearchState
from buildbot_bench.core.calibration import (
    CheckedBy,
    LaterCheck,
    SeriesBudget,
    StatedVerdict,
    VerdictKind,
    calibrate,
    checked_by_boots,
    compared_again,
)
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.json_model import Json, to_json
from buildbot_bench.core.sample import NoiseClass, Sample
from buildbot_bench.core.search import Step
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import (
    ALARMS,
    FRUITFUL_SEARCHES,
    JudgementState,
    MarkKind,
    SearchKind,
)
from buildbot_bench.plugin.db.finding_rows import JudgementRow, MarkRow, SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.incidents import is_of

SeriesKey = tuple[str, str, str]

_READ = 300
"""So many of the newest searches, and of the newest comparisons, are looked at."""
_ALARMS = 1000
_RIGHT = frozenset({MarkKind.EXPECTED, MarkKind.FIXED})
_DECIDED = frozenset({"better", "worse", "no difference"})


async def calibration_json(farm: Farm) -> Json:
    """How right verdicts were, and the budget of each series, as the REST interface shows them."""
    marks = await farm.store.newest_marks()
    alarms = await _alarms(farm, marks)
    all_alarms = [one for own in alarms.values() for one in own]
    found = calibrate([*await _culprits(farm, marks), *all_alarms, *await _comparisons(farm)])
    declared = all_series(farm.workflow.bench_jobs)
    one_in = 1000 * len(declared) / farm.workflow.regression.false_alarms
    unfit: dict[SeriesKey, str] = {}
    for row in await farm.store.judgements(JudgementState.UNFIT, limit=_READ):
        unfit.setdefault((row.testbed, row.workload, row.branch or ""), row.grounds.reason)
    budgets = []
    for series in declared:
        name = series.name
        for branch, judged in sorted((await farm.store.judged_commits(name)).items()):
            right = [one.right for one in alarms[*name, branch]]
            budget = SeriesBudget(
                testbed=series.testbed,
                workload=series.workload,
                branch=branch,
                one_in=one_in,
                judged=judged,
                alarms=len(right),
                checked=len(right) - right.count(None),
                denied=right.count(False),
                unfit=unfit.get((*name, branch), ""),
            )
            budgets.append(to_json(budget))
    return to_json(found) | {"budgets": budgets}


async def _alarms(farm: Farm, marks: list[MarkRow]) -> dict[SeriesKey, list[StatedVerdict]]:
    """What was ever an alarm, by series."""
    said = {mark.judgement_id: mark for mark in marks if mark.judgement_id is not None}
    of_search = {mark.search_id: mark for mark in marks if mark.search_id is not None}
    found: dict[SeriesKey, list[StatedVerdict]] = defaultdict(list)
    for row in await _ever_alarms(farm, marks):
        stated = row.probability if row.state in ALARMS else row.grounds.stated
        if stated is None:
            continue
        checks = [_by_person(said.get(row.id)), *await _by_search(farm, row, of_search)]
        if row.state is JudgementState.NOTHING and checks[0] is None:
            checks.append(LaterCheck(by=CheckedBy.BOOTS, right=False))
        series = (row.testbed, row.workload, row.branch or "")
        found[series].append(_stated(VerdictKind.ALARM, stated, checks))
    return found


async def _ever_alarms(farm: Farm, marks: list[MarkRow]) -> list[JudgementRow]:
    """The newest alarms, and what was one before a mark had it judged anew."""
    rows = [row for state in ALARMS for row in await farm.store.judgements(state, limit=_ALARMS)]
    for mark in marks:
        if mark.judgement_id is not None:
            row = await farm.store.judgement(mark.judgement_id)
            rows += [row] if row else []
        elif mark.search_id is not None:
            rows += await farm.store.judgements_of_search(mark.search_id)
    return list({row.id: row for row in rows}.values())


def _stated(kind: VerdictKind, sure: float, checks: list[LaterCheck | None]) -> StatedVerdict:
    return StatedVerdict(kind=kind, probability=sure, checks=tuple(one for one in checks if one))


def _by_person(mark: MarkRow | None) -> LaterCheck | None:
    """What a mark says; None of one that says nothing of right or wrong."""
    if mark is None or mark.kind not in {*_RIGHT, MarkKind.NOISE}:
        return None
    return LaterCheck(by=CheckedBy.PERSON, right=mark.kind in _RIGHT)


async def _by_search(
    farm: Farm, row: JudgementRow, marks: Mapping[int, MarkRow]
) -> list[LaterCheck | None]:
    """What the search of an alarm measured: its ends, or, of a further series, the step's sides."""
    search = await farm.store.search(row.search_id) if row.search_id else None
    if search is None or search.ended_at is None:
        return []
    shown = LaterCheck(by=CheckedBy.BOOTS, right=True)
    of_search = (search.testbed, search.workload, search.value)
    if (row.testbed, row.workload, row.value) != of_search:
        members = await farm.store.series_of_incident(search.id)
        own = [one for one in members if is_of(one, row)]
        return [shown] if any(one.standing is Standing.CONFIRMED for one in own) else []
    checks = [_by_person(marks.get(search.id))]
    if search.recovery is not None:
        checks.append(LaterCheck(by=CheckedBy.FIX, right=True))
    if search.state in FRUITFUL_SEARCHES:
        checks.append(shown)
    if search.state is SearchState.NOT_REPRODUCED:
        checks.append(LaterCheck(by=CheckedBy.BOOTS, right=False))
    return checks


async def _culprits(farm: Farm, marks: list[MarkRow]) -> list[StatedVerdict]:
    """The commit that each search is about, with what was learnt since it ended."""
    said = {mark.search_id: mark for mark in marks if mark.search_id is not None}
    found = []
    for search in await farm.store.searches(
        states=[SearchState.FOUND], limit=_READ, kinds=[SearchKind.EFFECT]
    ):
        step = search.headline
        if step is None:
            continue
        mark = said.get(search.id)
        checks = [_by_person(mark), await _by_later_boots(farm, search, step)]
        if mark is not None and mark.kind is MarkKind.FIXED and search.recovery is not None:
            checks.append(LaterCheck(by=CheckedBy.FIX, right=True))
        found.append(_stated(VerdictKind.CULPRIT, step.probability, checks))
    return found


async def _by_later_boots(farm: Farm, search: SearchRow, step: Step) -> LaterCheck | None:
    """What both sides of a step gave since the search ended, in one epoch of the lab."""
    if search.fix_patch is not None or search.tunables or search.ended_at is None:
        return None
    places = (search.old_position + step.old, search.old_position + step.new)
    samples = await farm.store.samples(
        search.series, (places[0], places[1]), unit=search.measured_in, branch=search.branch
    )
    for epoch in dict.fromkeys(sample.epoch for sample in reversed(samples)):
        own = [sample for sample in samples if sample.epoch == epoch]
        sides = [_since(own, place, search.ended_at) for place in places]
        if all(sides):
            return await calculate(
                checked_by_boots,
                sides[0],
                sides[1],
                step.effect,
                layout=own[0].metric.noise is not NoiseClass.EXACT,
            )
    return None


def _since(samples: list[Sample], position: int, ended_at: float) -> dict[int, list[float]]:
    """The values of a revision's boots since then, by image."""
    found = {
        sample.image: [
            one.value
            for one in sample.iterations
            if one.value and one.value > 0 and one.at_s > ended_at
        ]
        for sample in samples
        if sample.position == position
    }
    return {image: values for image, values in found.items() if values}


async def _comparisons(farm: Farm) -> list[StatedVerdict]:
    """The comparisons that somebody repeated: the same variants, series and thresholds."""
    ended = await farm.store.ab_tests(states=[AbTestState.DONE], limit=_READ)
    asked = Counter(map(_asked, ended))
    views = ComparisonViews(farm)
    decided: list[tuple[Hashable, str, float]] = []
    for row in reversed([row for row in ended if asked[_asked(row)] > 1]):
        for series in (await views.report(row)).series:
            for place, change in enumerate(series.changes):
                said, p = str(change.verdict), change.p_corrected
                sure = row.confidence / 100 if said == "no difference" else 1 - (p or 0)
                if said in _DECIDED:
                    question = (_asked(row), series.testbed, series.workload, place)
                    decided.append((question, said, sure))
    return compared_again(decided)


def _asked(row: AbTestRow) -> Hashable:
    variants = tuple(variant.variant for variant in row.variants)
    return variants, tuple(row.series_names), row.confidence, row.min_effect
