"""Control images are measured on time; a testbed out of control is held until it is well."""

from functools import partial

import pytest
from buildbot.process.properties import Properties

from buildbot_bench.plugin.broker.commit_queue import ASK_AGAIN_AFTER_S, CommitQueue
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.quarantine import MORE_OFTEN, ControlImages, may_start, release
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.db.columns import Priority
from buildbot_bench.plugin.queries.control_images import control_state
from tests.fakes.control import (
    CONTROLLED,
    DAY_S,
    PLAIN,
    WITH_CONTROL,
    answer_control,
    control_rounds,
)
from tests.fakes.past import Past, boots

LEVEL = 1e6


@pytest.fixture
def farm(make_farm):
    return make_farm(WITH_CONTROL)


@pytest.fixture
def controls(farm) -> ControlImages:
    return ControlImages(farm)


@pytest.fixture
def rounds(past):
    return partial(control_rounds, past)


async def lasting(farm):
    return await farm.store.quarantines(open_only=True)


async def asked(farm) -> list[int]:
    return [probe.serial for probe in await farm.store.probes() if probe.reason == "control"]


async def test_the_control_image_is_asked_for_as_bench_yml_says(controls, farm, past):
    await controls.advance()
    await controls.advance()
    (probe,) = await farm.store.probes()
    assert (probe.serial, probe.reason, probe.iterations) == (1, "control", 3)
    assert (probe.testbed, probe.workload) == ("apu", "forwarding")
    image = await farm.store.image(probe.image_id)
    assert (image.sha, image.ordinal) == (past.shas[4], 0)


async def test_it_goes_before_searches_and_after_persons(controls, farm):
    await controls.advance()
    (probe,) = await farm.store.probes()
    assert Priority.SEARCH < probe.priority < Priority.PERSON


async def test_it_is_asked_for_again_when_its_time_has_come(controls, farm, past, master):
    await controls.advance()
    await past.lab_answers(lambda _: LEVEL)
    (first,) = await farm.store.probes()
    master.reactor.advance(first.created_at + DAY_S - farm.now() - 1)
    await controls.advance()
    assert await asked(farm) == [1]
    master.reactor.advance(1)
    await controls.advance()
    assert await asked(farm) == [1, 2]


async def test_a_testbed_without_a_control_image_asks_for_none(make_farm):
    farm = make_farm()
    await ControlImages(farm).advance()
    assert await farm.store.probes() == []


async def test_a_control_revision_that_nobody_knows_asks_for_nothing(make_farm):
    farm = make_farm((WITH_CONTROL[0], WITH_CONTROL[1].replace("r4", "r4711")))
    await ControlImages(farm).advance()
    assert await farm.store.probes() == []


async def test_a_leap_puts_the_testbed_into_quarantine_once(rounds, controls, farm):
    await rounds(*[LEVEL] * 5, 0.95 * LEVEL)
    await controls.advance()
    (row,) = await farm.store.quarantines()
    assert (row.testbed, row.workload, row.ended_at) == ("apu", "forwarding", None)
    assert row.shift == pytest.approx(-0.05, abs=0.005)
    assert row.reason.startswith("the control image r4 is off by -")


async def test_a_testbed_that_is_well_is_left_alone(rounds, farm):
    await rounds(*[LEVEL] * 12)
    assert await farm.store.quarantines() == []


@pytest.mark.parametrize(("said", "tolerance"), [("", 0.01), (", min-effect: 0.5%", 0.0025)])
async def test_half_of_the_testbeds_least_effect_turns_no_verdict(make_farm, said, tolerance):
    farm = make_farm((PLAIN, CONTROLLED.replace(", control", f"{said}, control")))
    state = await control_state(farm, "apu")
    assert state.policy.tolerance == pytest.approx(tolerance)


async def test_a_control_image_that_gives_no_value_is_a_reason_too(rounds, farm):
    await rounds(LEVEL, LEVEL, None)
    (row,) = await lasting(farm)
    assert (row.shift, row.reason) == (
        None,
        "the control image r4 gave no value: the DUT does not boot",
    )


async def test_a_control_image_that_never_gave_one_is_a_reason_the_second_time(rounds, farm):
    await rounds(None)
    first_s = farm.now()
    assert await lasting(farm) == []
    await rounds(None)
    (row,) = await lasting(farm)
    assert (row.shift, row.since_s) == (None, first_s)
    assert row.reason.endswith("gave no value: the DUT does not boot")


async def test_it_is_released_when_it_gives_values(rounds, farm):
    await rounds(None, None, LEVEL)
    assert await lasting(farm)
    await rounds(LEVEL)
    (row,) = await farm.store.quarantines()
    assert row.ended_by == "the control image, good again"
    await rounds(LEVEL, LEVEL)
    assert len(await farm.store.quarantines()) == 1


async def test_another_image_in_place_of_one_that_never_gave_a_value_releases_nothing(
    rounds, farm, make_farm, published
):
    await rounds(None, None)
    other = Past(make_farm((PLAIN, CONTROLLED.replace("r4", "r5"))), published[2])
    for probe in await farm.store.probes(state="new"):
        await farm.store.change(probe, state="cancelled")
    for _ in range(3):
        await ControlImages(other.farm).advance()
        await answer_control(other, LEVEL, position=5)
    await ControlImages(other.farm).advance()
    assert await lasting(farm)


async def test_builders_that_fail_say_nothing_of_the_testbed(rounds, farm, past):
    await rounds(LEVEL, LEVEL)
    await past.image(4, state="failed", reason="the builder's disk is full")
    await rounds(None)
    assert await farm.store.quarantines() == []


async def test_a_quarantined_testbed_measures_its_control_image_only(rounds, farm, past, master):
    await rounds(*[LEVEL] * 5, 0.9 * LEVEL)
    await past.probe(6, reason="search")
    await past.probe(7, reason="search", testbed="xeon")
    await Issuer(farm, master).issue()
    assert sorted(request.builder for request in master.requests) == ["bench/apu", "bench/xeon"]
    assert "for control" in next(r.reason for r in master.requests if r.builder == "bench/apu")


async def test_a_search_waits_while_its_testbed_is_held(rounds, farm, past):
    await past.commits(*range(1, 12))
    search = await past.search()
    await rounds(*[LEVEL] * 5, 0.9 * LEVEL)
    await Searching(farm).advance()
    assert await farm.store.probes_of_search(search.id) == []
    await release(farm, "apu", by="ann", false_alarm=False)
    await Searching(farm).advance()
    assert len(await farm.store.probes_of_search(search.id)) == 1


async def test_a_search_that_is_cancelled_ends_on_a_held_testbed_too(rounds, farm, past):
    await past.commits(*range(1, 12))
    search = await past.search(state="cancelling")
    await rounds(*[LEVEL] * 5, 0.9 * LEVEL)
    await Searching(farm).advance()
    assert (await farm.store.search(search.id)).state == "cancelled"


async def test_what_was_issued_before_is_held_in_buildbots_queue(rounds, farm, past, master):
    early = await past.probe(6, reason="search", state="issued")
    other = await past.probe(6, reason="search", state="issued", testbed="xeon")
    await rounds(LEVEL, LEVEL)

    async def starts(probe_id: int | None) -> bool:
        properties = Properties()
        if probe_id is not None:
            properties.setProperty("bench_probe", probe_id, "Bench")
        request = type("Request", (), {"properties": properties})
        return await may_start(master, None, request)

    assert await starts(early.id)
    await rounds(0.9 * LEVEL)
    (control,) = [p for p in await farm.store.probes(state="new") if p.reason == "control"]
    assert not await starts(early.id)
    assert await starts(other.id)
    assert await starts(control.id)
    assert await starts(None)


async def test_two_good_rounds_in_a_row_end_it(rounds, farm, master):
    await rounds(*[LEVEL] * 5, 0.95 * LEVEL, LEVEL)
    assert await lasting(farm)
    await rounds(0.95 * LEVEL, LEVEL)
    assert await lasting(farm)
    await rounds(LEVEL)
    (row,) = await farm.store.quarantines()
    assert (row.ended_by, row.trusted) == ("the control image, good again", False)
    assert master.poked == ["bench/apu"]
    await rounds(*[LEVEL] * 3)
    assert len(await farm.store.quarantines()) == 1


async def test_it_is_measured_at_once_and_then_more_often(rounds, controls, farm, master):
    await rounds(*[LEVEL] * 5, 0.9 * LEVEL)
    for _ in range(2):
        (probe,) = [p for p in await farm.store.probes(state="new") if p.reason == "control"]
        await farm.store.change(probe, state="lost", failure="away", ended_at=farm.now())
        await controls.advance()
    known = len(await asked(farm))
    master.reactor.advance(DAY_S / MORE_OFTEN + 1)
    await controls.advance()
    assert len(await asked(farm)) == known + 1


async def test_another_control_image_has_nothing_to_be_compared_with_and_ends_nothing(
    rounds, farm, make_farm, published
):
    await rounds(*[LEVEL] * 5, 0.9 * LEVEL)
    other = Past(make_farm((PLAIN, CONTROLLED.replace("r4", "r5"))), published[2])
    for probe in await farm.store.probes(state="new"):
        await farm.store.change(probe, state="cancelled")
    for _ in range(3):
        await ControlImages(other.farm).advance()
        await answer_control(other, LEVEL, position=5)
    await ControlImages(other.farm).advance()
    assert len(await lasting(farm)) == 1


async def test_a_new_epoch_ends_it(rounds, farm):
    await rounds(*[LEVEL] * 5, 0.9 * LEVEL, epoch="1")
    await rounds(0.9 * LEVEL, epoch="2")
    (row,) = await farm.store.quarantines()
    assert (row.epoch, row.ended_by) == ("1", "a new epoch")
    await rounds(*[0.9 * LEVEL] * 3, epoch="2")
    assert len(await farm.store.quarantines()) == 1


async def test_a_person_ends_it(rounds, farm, master):
    await rounds(*[LEVEL] * 5, 0.9 * LEVEL)
    await release(farm, "apu", by="ann", false_alarm=False)
    (row,) = await farm.store.quarantines()
    assert (row.ended_by, row.trusted) == ("ann", False)
    assert master.produced[-1] == ("bench", "broker", "wake")


async def test_samples_since_the_last_good_round_are_no_samples(rounds, farm, past):
    await past.commits(*range(1, 12))
    await past.measured(6, boots(LEVEL))
    await rounds(*[LEVEL] * 5)
    await past.measured(7, boots(0.9 * LEVEL), ended_at=farm.now() + 1)

    async def seen() -> list[str]:
        samples = await farm.store.samples(("apu", "forwarding"), (1, 11))
        return [sample.label for sample in samples]

    assert await seen() == ["r6", "r7"]
    await rounds(0.9 * LEVEL)
    assert await seen() == ["r6"]
    assert len(await farm.store.export(("apu", "forwarding"), "main", limit=1000)) > 10
    await release(farm, "apu", by="ann", false_alarm=True)
    assert await seen() == ["r6", "r7"]


async def test_a_commit_that_was_measured_in_doubt_is_measured_again(rounds, farm, past, master):
    await past.commits(7)
    await rounds(*[LEVEL] * 5)
    await CommitQueue(farm).advance()
    (probe,) = [p for p in await farm.store.probes(state="new") if p.reason == "commit"]
    await farm.store.change(probe, state="done", ended_at=farm.now() + 1)
    await rounds(0.9 * LEVEL)
    await ControlImages(farm).advance()
    forgotten = await farm.store.probe(probe.id)
    assert (forgotten.state, forgotten.failure[:22]) == ("lost", "apu was out of control")
    await release(farm, "apu", by="ann", false_alarm=False)
    await past.lab_answers(lambda _: LEVEL)
    master.reactor.advance(ASK_AGAIN_AFTER_S + 1)
    await CommitQueue(farm).advance()
    (again,) = await farm.store.probes(state="new")
    assert (again.image_id, again.reason) == (probe.image_id, "backfill")
