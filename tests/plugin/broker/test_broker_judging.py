"""What a new sample leads to: nothing, fresh boots of both sides, or exactly one search."""

import pytest

from buildbot_bench.core.judge.model import Settled
from buildbot_bench.core.sample import Sample
from buildbot_bench.plugin.broker.follow_ups import MAX_ROUNDS
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.db.columns import JudgementState
from buildbot_bench.plugin.db.finding_rows import NewJudgement, VerdictGrounds
from buildbot_bench.plugin.queries.incidents import alarmed_elsewhere
from buildbot_bench.plugin.queries.judgements import settled_changes
from tests.fakes.past import TESTBED, WORKLOAD, Past, boots

# Both testbeds measure forwarding.
BOTH = (("runs-on: apu", "runs-on: [apu, xeon]"),)
HISTORY = range(1, 11)
USUAL = 1e6
NEW = 11


def steady(_position: int) -> float:
    return USUAL


def slower_from_new(position: int) -> float:
    return USUAL if position < NEW else 0.9 * USUAL


def faster_from_new(position: int) -> float:
    return USUAL if position < NEW else 1.1 * USUAL


@pytest.fixture
def judging(farm) -> Judging:
    return Judging(farm)


async def lived(past, level=steady, iterations: int = 5) -> None:
    """Ten revisions that were measured and judged, and the one that comes then."""
    await past.commits(*HISTORY, NEW)
    for position in HISTORY:
        await past.measured(position, boots(level(position), series=position), judged=True)
    await past.measured(NEW, boots(level(NEW), iterations, series=NEW))


async def judged_to_the_end(judging, past, level) -> int:
    """Judge and measure what is asked for until nothing is; how often the lab was asked."""
    for rounds in range(MAX_ROUNDS + 2):
        await judging.advance()
        if not await past.lab_answers(level):
            return rounds
    raise AssertionError("the judge asks for ever")


async def verdict(farm, position: int = NEW):
    (row,) = [row for row in await farm.store.judgements() if row.new_position == position]
    return row


async def test_of_the_first_sample_nothing_can_be_said(judging, past, farm):
    await past.commits(1)
    await past.measured(1, boots(USUAL))
    await judging.advance()
    row = await verdict(farm, 1)
    assert (row.state, row.old_sha, row.p_value) == ("nothing", "", None)
    assert "no earlier sample" in row.verdict.reason


async def test_an_unchanged_level_is_nothing_and_is_compared_with_its_predecessor(
    judging, past, farm
):
    await lived(past)
    await judging.advance()
    row = await verdict(farm)
    assert (row.state, row.old_position, row.unit) == ("nothing", 10, "pps")
    assert row.p_value > 0.05
    assert await farm.store.probes(state="new") == []


async def test_a_sample_is_judged_once(judging, past, farm):
    await lived(past)
    await judging.advance()
    assert await farm.store.unjudged_probes() == []
    before = await verdict(farm)
    await judging.advance()
    assert await verdict(farm) == before


async def test_a_drop_is_a_suspicion_first_and_fresh_boots_are_asked_of_both_sides(
    judging, past, farm
):
    await lived(past, slower_from_new)
    await judging.advance()
    row = await verdict(farm)
    assert row.state == "suspicion"
    assert row.low < -0.1 < row.high
    asked = await farm.store.probes(state="new")
    positions = {(await farm.store.image(probe.image_id)).position for probe in asked}
    assert NEW in positions
    assert min(positions) < NEW
    assert {str(probe.reason) for probe in asked} == {"confirm"}
    assert sorted(row.verdict.probes) == sorted(probe.id for probe in asked)
    assert await farm.store.searches() == []


async def test_nothing_more_is_asked_while_the_fresh_boots_are_under_way(judging, past, farm):
    await lived(past, slower_from_new)
    await judging.advance()
    asked = await farm.store.probes()
    await judging.advance()
    assert await farm.store.probes() == asked
    assert (await verdict(farm)).rounds == 1


async def test_a_confirmed_drop_starts_exactly_one_search(judging, past, farm):
    await lived(past, slower_from_new)
    assert await judged_to_the_end(judging, past, slower_from_new) >= 1
    row = await verdict(farm)
    assert row.state == "regression"
    (search,) = await farm.store.searches()
    assert row.search_id == search.id
    assert (search.testbed, search.workload, search.unit) == (TESTBED, WORKLOAD, "pps")
    assert search.old_position < search.new_position == NEW
    assert (search.old_sha, search.new_sha) == (past.shas[search.old_position], past.shas[NEW])
    assert search.claimed == pytest.approx(-0.1, abs=0.02)
    assert (search.min_effect, search.error, search.reason) == (0.02, 0.01, "alarm")
    await judging.advance()
    assert len(await farm.store.searches()) == 1


async def test_a_slow_boot_that_fresh_ones_do_not_repeat_starts_no_search(judging, past, farm):
    await lived(past, slower_from_new, iterations=1)
    await judged_to_the_end(judging, past, steady)
    assert (await verdict(farm)).state in {"nothing", "unfit"}
    assert await farm.store.searches() == []


async def test_a_confirmed_improvement_is_recorded_and_starts_no_search(judging, past, farm):
    await lived(past, faster_from_new)
    await judged_to_the_end(judging, past, faster_from_new)
    row = await verdict(farm)
    assert (row.state, row.search_id) == ("improvement", None)
    assert await farm.store.searches() == []


async def test_the_next_revision_on_the_lower_level_starts_no_second_search(judging, past, farm):
    await lived(past, slower_from_new)
    await judged_to_the_end(judging, past, slower_from_new)
    await past.commits(12, 13)
    for position in (12, 13):
        await past.measured(position, boots(slower_from_new(position), series=position))
        await judged_to_the_end(judging, past, slower_from_new)
    assert len(await farm.store.searches()) == 1


async def test_a_kernel_that_panics_after_some_boots_is_not_judged_by_them(judging, past, farm):
    await lived(past)
    await past.commits(12)
    panic = {"failure": "panic", "failure_kind": "untestable"}
    await past.measured(12, boots(0.5e6, 2), **panic)
    await judging.advance()
    assert {row.new_position for row in await farm.store.judgements()} == {NEW}
    assert await farm.store.unjudged_probes() == []


async def test_samples_of_the_search_and_of_confirmations_are_evidence_and_not_judged_themselves(
    judging, past, farm
):
    await past.commits(1, 2)
    await past.measured(1, boots(USUAL), judged=True)
    await past.measured(2, boots(USUAL), reason="search")
    await judging.advance()
    assert await farm.store.judgements() == []


async def test_another_epoch_of_the_lab_is_not_compared(judging, past, farm):
    await past.commits(1, 2)
    await past.measured(1, boots(USUAL), judged=True, epoch="old switch")
    await past.measured(2, boots(0.5 * USUAL), epoch="new switch")
    await judging.advance()
    assert (await verdict(farm, 2)).state in {"nothing", "unfit"}
    assert await farm.store.probes(state="new") == []


def sample_at(position: int, **columns) -> Sample:
    known = {"label": f"r{position}", "testbed": "apu", "workload": "forwarding"}
    return Sample(position=position, **known | columns)


async def agreement(farm, old: int, new: int, **columns) -> set[str]:
    """In which directions others speak for a change of forwarding on apu in (old, new]."""
    return set(
        await alarmed_elsewhere(
            farm, sample_at(new, **columns), sample_at(old, **columns), branch="main"
        )
    )


async def test_an_alarm_of_another_testbed_speaks_for_a_change_in_its_direction(
    make_farm, published
):
    farm = make_farm(*BOTH)
    past = Past(farm, published[2])
    await past.commits(*range(1, 10))
    await past.image(8)
    seen = await past.judgement(3, 8, testbed="xeon", state="nothing")
    assert await agreement(farm, 4, 6) == set()
    seen = await farm.store.change(seen, changed_at=1.0, state="regression")
    assert await agreement(farm, 4, 6) == {"regression"}
    assert await agreement(farm, 8, 12) == set()
    assert await agreement(farm, 4, 6, testbed="xeon") == set()
    assert await agreement(farm, 4, 6, workload="pf") == set()
    await farm.store.change(seen, changed_at=1.0, state="improvement")
    assert await agreement(farm, 4, 6) == {"improvement"}


async def test_a_testbed_that_is_not_measured_any_more_does_not_speak(farm, past):
    await past.commits(*range(1, 10))
    await past.image(8)
    await past.judgement(3, 8, testbed="xeon")
    assert await agreement(farm, 4, 6) == set()


async def test_an_alarm_about_a_commit_that_the_branch_has_lost_does_not_speak(
    make_farm, published
):
    farm = make_farm(*BOTH)
    past = Past(farm, published[2])
    await past.commits(*range(1, 10))
    await past.image(8, sha="f" * 40)
    await past.judgement(3, 8, testbed="xeon")
    assert await agreement(farm, 4, 6) == set()


async def settled(farm) -> list[Settled]:
    return await settled_changes(farm, (TESTBED, WORKLOAD), 0, 0.02, branch="main")


async def test_what_an_alarm_settled_stands_in_the_tables(judging, past, farm):
    await lived(past, slower_from_new)
    assert await settled(farm) == []
    await judged_to_the_end(judging, past, slower_from_new)
    assert await settled(farm) == [Settled(began=NEW, judged=NEW)]
    assert await settled_changes(farm, (TESTBED, WORKLOAD), NEW + 1, 0.02, branch="main") == []
    assert await settled_changes(farm, (TESTBED, "another"), 0, 0.02, branch="main") == []


async def test_a_change_below_min_effect_is_settled_as_a_small_one(farm, past):
    await past.commits(*range(1, 12))
    grounds = VerdictGrounds(began=7)
    await past.judgement(6, 8, state="nothing", rounds=3, effect=-0.018, verdict=grounds)
    assert await settled(farm) == [Settled(began=7, judged=8, small=True)]


async def test_an_alarm_of_before_the_tables_kept_where_the_level_began_is_settled(farm, past):
    await past.commits(*HISTORY)
    for position, state in ((4, "regression"), (6, "nothing"), (8, "improvement")):
        await farm.store.ensure_judgement(
            NewJudgement(
                testbed=TESTBED,
                workload=WORKLOAD,
                unit="pps",
                old_sha=past.shas[position - 1],
                old_position=position - 1,
                new_sha=past.shas[position],
                new_position=position,
                state=JudgementState(state),
                rounds=3,
            ),
            now=1.0,
        )
    assert await settled(farm) == [Settled(began=4, judged=4), Settled(began=8, judged=8)]


async def test_a_lab_that_fresh_boots_show_to_stand_elsewhere_is_settled_without_an_alarm(
    judging, past, farm
):
    await lived(past, slower_from_new)
    await judged_to_the_end(judging, past, lambda _position: 0.9 * USUAL)
    assert (await verdict(farm)).state == "nothing"
    assert await settled(farm) == [Settled(began=NEW, judged=NEW)]
    await past.commits(12)
    await past.measured(12, boots(0.9 * USUAL, series=12))
    assert await judged_to_the_end(judging, past, lambda _position: 0.9 * USUAL) == 0
    assert (await verdict(farm, 12)).rounds == 1


async def test_what_is_settled_is_not_told_again_whatever_is_known_of_the_noise_today(
    judging, past, farm
):
    """Today's noise would call the alarm of then a doubt; the tables say that it was one."""
    await lived(past, slower_from_new)
    await judged_to_the_end(judging, past, slower_from_new)
    await past.commits(*range(12, 20))
    for position in range(12, 20):
        level = slower_from_new(position) * (1.04 if position % 2 else 0.96)
        await past.measured(position, boots(level, series=position))
        await judged_to_the_end(judging, past, slower_from_new)
    assert len(await farm.store.searches()) == 1


async def test_few_false_alarms_are_bearable_where_bench_yml_says_so(judging, past, farm):
    await lived(past, slower_from_new)
    regression = farm.workflow.regression.model_copy(update={"false_alarms": 1e-60})
    farm.workflow = farm.workflow.model_copy(update={"regression": regression})
    await judged_to_the_end(judging, past, slower_from_new)
    assert (await verdict(farm)).state == "nothing"
    assert await farm.store.searches() == []
