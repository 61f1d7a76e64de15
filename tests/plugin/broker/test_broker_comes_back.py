"""What a lost testbed leaves to the lab ends: captures, quarantines, wishes; it may come back."""

import pytest

from buildbot_bench.api.requests import MoreBoots, SearchQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.requests.search_requests import SearchRequests, measure_more
from tests.fakes.control import DAY_S, WITH_CONTROL, answer_control
from tests.fakes.past import boots
from tests.fakes.removed import WAYS, lab_answers, level, worked


@pytest.fixture
def cycle(farm, master, errors) -> Cycle:
    return Cycle(farm=farm, scheduler=master)


SAMPLED = ("testbeds:\n  apu: {", "testbeds:\n  apu: {profile: 20m, ")


@pytest.fixture
def sampling(make_farm, master, errors):
    farm = make_farm(SAMPLED)
    return farm, Cycle(farm=farm, scheduler=master)


@pytest.mark.parametrize(
    ("replaced", "why"),
    [
        WAYS["removed"],
        ((), "testbed apu no longer takes captures: it has no `profile` in bench.yml"),
    ],
)
async def test_captures_end_with_the_reason(sampling, past, reconfigure, replaced, why):
    farm, cycle = sampling
    rows = [
        await farm.store.ensure_profile(
            key=f"k{position}",
            token="job",
            image_id=(await past.image(position)).id,
            testbed="apu",
            workload="forwarding",
            now=1.0,
        )
        for position in (6, 7)
    ]
    await farm.store.change(rows[0], state="issued", brid=77)
    reconfigure(farm, *replaced)
    await cycle.run()
    ended = [await farm.store.profile(row.id) for row in rows]
    assert [(row.state, row.failure) for row in ended] == [("failed", why)] * 2
    assert farm.master.data.cancelled == [77]
    assert farm.master.requests == []


async def test_a_quarantine_and_the_rounds_of_its_control_image_end(
    make_farm, master, past, reconfigure, errors
):
    farm = make_farm(WITH_CONTROL)
    cycle = Cycle(farm=farm, scheduler=master)
    for value in (1e6, 1e6, 1e6, 0.9e6):
        await cycle.run()
        await answer_control(past, value)
    await cycle.run()
    (row,) = await farm.store.quarantines(open_only=True)
    (probe,) = await farm.store.probes(state="new")
    replaced, why = WAYS["removed"]
    reconfigure(farm, *replaced)
    await cycle.run()
    (ended,) = await farm.store.quarantines(row.testbed)
    assert (ended.ended_by, ended.ended_at, ended.trusted) == (why, farm.now(), False)
    assert (await farm.store.probe(probe.id)).state == "cancelled"
    reconfigure(farm, WITH_CONTROL)
    master.reactor.advance(DAY_S)
    await cycle.run()
    (again,) = await farm.store.probes(state="new")
    assert (again.reason, again.id > probe.id) == ("control", True)


async def test_nobody_can_have_it_measured_again_and_is_told_why(
    cycle, past, farm, reconfigure, way
):
    replaced, why = way
    search = await past.search(1, 11, state="found", ended_at=farm.now())
    row = await past.judgement(2, 3)
    reconfigure(farm, *replaced)
    requests = MarkRequests(farm)
    with pytest.raises(UsageError, match=why):
        await requests.mark_search(search.id, "again", author="ann", fixed_by="")
    with pytest.raises(UsageError, match=why):
        await requests.mark_verdict(row.id, "again", author="ann", fixed_by="")
    with pytest.raises(UsageError, match=why):
        await measure_more(farm, search.id, MoreBoots(revision="r4", iterations=1))
    assert (await requests.mark_search(search.id, "noise", author="ann", fixed_by=""))[
        "kind"
    ] == "noise"
    await cycle.run()
    assert await farm.store.probes() == []


async def test_a_request_that_nobody_has_seen_to_is_dropped(cycle, past, farm, reconfigure, way):
    search = await past.search(1, 11, state="found", ended_at=farm.now())
    row = await past.judgement(2, 3)
    requests = MarkRequests(farm)
    await requests.mark_search(search.id, "again", author="ann", fixed_by="")
    await requests.mark_verdict(row.id, "again", author="ann", fixed_by="")
    reconfigure(farm, *way[0])
    await cycle.run()
    assert await farm.store.pending_marks() == []
    assert len(await farm.store.searches()) == 1
    assert await farm.store.judgement(row.id) == row


async def test_on_a_testbed_that_comes_back_new_requests_work(cycle, past, farm, reconfigure, way):
    await past.commits(*range(1, 12))
    ended = await past.search()
    await cycle.run()
    reconfigure(farm, *way[0])
    await cycle.run()
    reconfigure(farm)
    again = (await SearchRequests(farm).start(SearchQuestion(old="r1", new="r11"), "ann"))[
        "searchid"
    ]
    await worked(cycle, past)
    assert (await farm.store.search(ended.id)).state == "cancelled"
    found = await farm.store.search(again)
    assert found.state == "found"
    assert found.answer.steps[0].new == 6
    measured = await farm.store.samples(("apu", "forwarding"), (1, 11))
    assert {row.position for row in measured} == set(range(1, 12))


async def test_an_alarm_that_is_doubted_later_starts_the_search_that_could_not_run(
    cycle, past, farm, reconfigure
):
    await past.commits(*range(1, 12))
    for position in (1, 2, 3, 4, 11):
        values = boots(level(position), series=position)
        await past.measured(position, values, judged=position != 11)
    for _ in range(20):
        await cycle.run()
        if await farm.store.searches():
            break
        await lab_answers(past)
    (row,) = [row for row in await farm.store.judgements() if row.search_id]
    reconfigure(farm, *WAYS["removed"][0])
    await cycle.run()
    assert (await farm.store.search(row.search_id)).state == "cancelled"
    reconfigure(farm)
    await MarkRequests(farm).mark_verdict(row.id, "again", author="ann", fixed_by="")
    await worked(cycle, past)
    again = await farm.store.judgement(row.id)
    assert again.search_id != row.search_id
    assert (await farm.store.search(again.search_id)).state == "found"
