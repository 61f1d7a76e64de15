"""What a new sample leads to: nothing, fresh boots of both sides, or exactly one search."""

from __future__ import annotations

import pytest

from buildbot_bench.plugin.broker.judging import MAX_ROUNDS, Judging
from buildbot_bench.plugin.db.finding_rows import NewJudgement
from buildbot_bench.plugin.db.states import JudgementState
from tests.fakes.past import TESTBED, WORKLOAD, boots

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


async def test_an_alarm_of_another_testbed_speaks_for_a_change(farm, past):
    new = NewJudgement(
        testbed="xeon",
        workload="forwarding",
        unit="pps",
        old_sha="a" * 40,
        old_position=3,
        new_sha="b" * 40,
        new_position=8,
        state=JudgementState.NOTHING,
    )
    seen = await farm.store.ensure_judgement(new, now=0.0)
    assert not await farm.store.alarmed_elsewhere("apu", 4, 6)
    await farm.store.change_judgement(seen, now=1.0, state="regression")
    assert await farm.store.alarmed_elsewhere("apu", 4, 6)
    assert not await farm.store.alarmed_elsewhere("apu", 8, 12)
    assert not await farm.store.alarmed_elsewhere("xeon", 4, 6)
