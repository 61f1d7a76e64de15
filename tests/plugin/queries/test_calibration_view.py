"""What checked the verdicts of a farm, read from its tables."""

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.follow_ups import Remeasuring
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.db.ab_test_rows import AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.finding_rows import Recovery, VerdictGrounds
from buildbot_bench.plugin.queries.calibration import calibration_json
from buildbot_bench.plugin.requests.marks import MarkRequests
from tests.fakes.past import TESTBED, WORKLOAD, boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")
NOTHING = Answer(steps=(), reproduced=False, unresolved=(), reason="the same")


def counted(told, kind):
    return [
        (row["least"], row["stated"], row["record"]["right"], row["record"]["wrong"], row["by"])
        for row in told["rows"]
        if row["kind"] == kind
    ]


async def test_nothing_is_checked_on_a_new_farm(farm, past):
    told = await calibration_json(farm)
    assert told["words"].startswith("No verdict of this farm could be checked yet.")
    assert (told["rows"], told["budgets"]) == ([], [])
    await past.answered(ANSWER)
    told = await calibration_json(farm)
    assert counted(told, "culprit") == [(0.99, 1, 0, 0, {"fix": 0, "boots": 0, "person": 0})]


async def test_people_and_fixes_that_landed_check_culprits(farm, past):
    right, wrong, fixed = [await past.answered(ANSWER) for _ in range(3)]
    marks = MarkRequests(farm)
    await marks.mark_search(right.id, "expected", author="ann", fixed_by="")
    await marks.mark_search(wrong.id, "noise", author="ann", fixed_by="")
    back = {"old_sha": past.shas[8], "old_label": "r8", "old_position": 8}
    back |= {"new_sha": past.shas[9], "new_label": "r9", "new_position": 9}
    await farm.store.change(fixed, recovery=Recovery(**back, at_s=1.0))
    told = await calibration_json(farm)
    assert counted(told, "culprit")[0][2:4] == (1, 1)  # a level that is back names no culprit
    await marks.mark_search(fixed.id, "fixed", author="ann", fixed_by="r9")
    told = await calibration_json(farm)
    assert counted(told, "culprit") == [(0.99, 3, 2, 1, {"fix": 1, "boots": 0, "person": 3})]
    assert told["words"].startswith("Of 3 culprits stated at 99 % or more")


@pytest.mark.parametrize(("later", "right", "wrong"), [(0.8e6, 1, 0), (1e6, 0, 1)])
async def test_later_boots_of_both_revisions_check_a_culprit(farm, past, later, right, wrong):
    await past.commits(*range(1, 12))
    await past.measured(6, boots(1e6))
    await past.measured(7, boots(0.8e6, series=1))
    await past.answered(ANSWER)
    told = await calibration_json(farm)
    assert counted(told, "culprit")[0][2:4] == (0, 0)  # what the search itself saw is no check
    for image in range(6):
        for position, level in ((6, 1e6), (7, later)):
            built = await past.image(position, ordinal=image)
            await past.measured(built, boots(level, series=10 * image + position))
    told = await calibration_json(farm)
    assert counted(told, "culprit")[0][2:4] == (right, wrong)


async def test_the_search_of_an_alarm_checks_it_and_the_series_has_a_budget(farm, past):
    shown = await past.answered(ANSWER)
    denied = await past.answered(NOTHING, "not-reproduced")
    stated = {"probability": 0.97, "rounds": 3}
    await past.judgement(5, 6, search_id=shown.id, **stated)
    await past.judgement(6, 7, search_id=denied.id, **stated)
    await past.judgement(7, 8, **stated)
    await past.judgement(8, 9, state="nothing", rounds=1)
    two = VerdictGrounds(reason="images have two speeds")
    await past.judgement(9, 10, state="unfit", rounds=1, verdict=two)
    told = await calibration_json(farm)
    assert counted(told, "alarm") == [(0.95, 3, 1, 1, {"fix": 0, "boots": 2, "person": 0})]
    (budget,) = told["budgets"]
    told = {name: budget[name] for name in ("judged", "alarms", "checked", "denied", "branch")}
    assert told == {"judged": 4, "alarms": 3, "checked": 2, "denied": 1, "branch": "main"}
    assert budget["words"].startswith("The budget is one false alarm in ")
    assert budget["words"].endswith("could not be judged: images have two speeds.")


async def test_a_search_of_another_series_checks_an_alarm_that_its_step_confirmed(farm, past):
    found = await past.answered(ANSWER)
    for workload, standing in (("pf", "confirmed"), ("ipfw", "unclear")):
        await past.joined(found.id, workload, standing=standing)
        await past.judgement(5, 6, workload=workload, search_id=found.id, probability=0.97)
    assert counted(await calibration_json(farm), "alarm")[0][1:4] == (2, 1, 0)


async def test_an_alarm_that_is_taken_back_keeps_what_was_stated(farm, past):
    await past.commits(*range(1, 12))
    for position in range(1, 11):
        await past.measured(position, boots(1e6, series=position), judged=True)
    probe = await past.measured(11, boots(0.9e6, series=11), judged=True)
    grounds = VerdictGrounds(image=probe.image_id, stated=0.98)
    alarm = await past.judgement(10, 11, rounds=1, verdict=grounds)
    marks = MarkRequests(farm)
    await marks.mark_verdict(alarm.id, "again", author="ann", fixed_by="")
    await Remeasuring(farm).advance()
    while await past.lab_answers(lambda _: 1e6):
        await Judging(farm).advance()
    assert (await farm.store.judgement(alarm.id)).state == "nothing"
    told = await calibration_json(farm)
    assert counted(told, "alarm") == [(0.95, 1, 0, 1, {"fix": 0, "boots": 1, "person": 0})]


async def test_a_comparison_that_is_repeated_checks_the_first(farm, past):
    await past.commits(*range(1, 12))
    for level in (0.7e6, 0.7e6, 2e6):
        await compared(farm, past, level)
    told = counted(await calibration_json(farm), "comparison")
    assert [row[1:4] for row in told] == [(3, 0, 2)]  # the last denies both


async def compared(farm, past, level):
    """r1 and r2 in six images each, of which the latter gives so much."""
    images = [await past.image(position) for position in (1, 2)]
    variants = tuple(
        AbTestVariant(image_id=one.id, tunables="", variant=one.variant, label=one.label)
        for one in images
    )
    wanted = {"confidence": 95.0, "min_effect": 0.02, "iterations": 10, "requester": "ann"}
    added = await farm.store.add_ab_test(
        NewAbTest(variants=variants, series=[(TESTBED, WORKLOAD)], images=6, **wanted),
        now=farm.now(),
    )
    for image, of in zip(images, (1e6, level), strict=True):
        values = boots(of, 10, series=image.id + 2 * added.id)
        await past.measured(image, values, ab_test_id=added.id)
    await farm.store.change_ab_test(added, state="done", ended_at=farm.now())
