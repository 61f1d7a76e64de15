"""What runs on a testbed that bench.yml loses ends as cancelled, and says why; it may come back."""

from shutil import copyfile

import pytest

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from tests.fakes.past import boots
from tests.fakes.removed import APU_REMOVED, BOTH, WAYS, lab_answers, level, worked


@pytest.fixture
def cycle(farm, master, errors) -> Cycle:
    return Cycle(farm=farm, scheduler=master)


async def test_a_search_ends_as_cancelled_with_the_reason(cycle, past, farm, reconfigure, way):
    replaced, why = way
    for position in (1, 11):
        await past.image(position)
    search = await past.search()
    await cycle.run()
    await lab_answers(past)
    await cycle.run()
    (probe,) = await farm.store.probes(state="issued")
    reconfigure(farm, *replaced)
    await cycle.run()
    ended = await farm.store.search(search.id)
    assert (ended.state, ended.detail, ended.ended_at) == ("cancelled", why, farm.now())
    cancelled = await farm.store.probe(probe.id)
    assert (cancelled.state, cancelled.failure) == ("cancelled", why)
    assert farm.master.data.cancelled == [probe.brid]
    shown = await SearchViews(farm).describe(search.id)
    assert (shown["state"], shown["now"]) == ("cancelled", why)
    assert why in " ".join(shown["text"].split()).lower()
    assert shown["report"]["reason"] == why
    await cycle.run()
    assert await farm.store.search(search.id) == ended


async def test_what_is_measured_for_commits_ends_too(cycle, past, farm, reconfigure, way):
    replaced, why = way
    await past.commits(*range(1, 12))
    await cycle.run()
    (image,) = await farm.store.images()
    (probe,) = await farm.store.probes()
    reconfigure(farm, *replaced)
    await cycle.run()
    ended = await farm.store.probe(probe.id)
    assert (ended.state, ended.failure, ended.ended_at) == ("cancelled", why, farm.now())
    for other in await farm.store.probes():
        assert other.id == probe.id or (other.testbed, other.workload) != ("apu", "forwarding")
    assert (await farm.store.image(image.id)).state != "untestable"


async def test_a_suspicion_is_not_followed_any_more(cycle, past, farm, reconfigure, way):
    replaced, why = way
    await past.commits(*range(1, 8))
    for position in range(1, 8):
        await past.measured(position, boots(level(position), series=position), judged=position != 7)
    await cycle.run()
    (row,) = await farm.store.judgements(state="suspicion")
    reconfigure(farm, *replaced)
    await cycle.run()
    ended = await farm.store.judgement(row.id)
    assert (ended.state, ended.verdict.reason) == ("unfit", why)
    asked = await farm.store.probes()
    assert {p.state for p in asked if p.reason == "confirm"} == {"cancelled"}


async def test_what_was_measured_before_is_judged_and_starts_nothing(
    cycle, past, farm, reconfigure, way
):
    replaced, why = way
    await past.commits(*range(1, 8))
    for position in range(1, 8):
        await past.measured(position, boots(level(position), series=position), judged=position != 7)
    reconfigure(farm, *replaced)
    await cycle.run()
    (row,) = await farm.store.judgements()
    assert (row.state, row.verdict.reason) == ("unfit", why)
    assert [p for p in await farm.store.probes() if p.reason == "confirm"] == []
    assert await farm.store.searches() == []


async def test_an_alarm_is_kept_and_no_search_begins(past, farm, reconfigure, tmp_path, errors):
    """The testbed goes between the boots that prove the change and the judgement of them."""
    judging, tables, before = Judging(farm), tmp_path / "state.sqlite", tmp_path / "before"
    await past.commits(*range(1, 12))
    for position in (1, 2, 3, 4, 11):
        values = boots(level(position), series=position)
        await past.measured(position, values, judged=position != 11)
    while not await farm.store.searches():
        await past.lab_answers(level)
        copyfile(tables, before)
        await judging.advance()
    copyfile(before, tables)
    replaced, why = WAYS["removed"]
    reconfigure(farm, *replaced)
    await judging.advance()
    (row,) = await farm.store.judgements(state="regression")
    assert row.verdict.reason.endswith(f"Fresh boots of both sides show it; not searched: {why}")
    assert (row.search_id, await farm.store.searches()) == (None, [])


async def started(farm, **asked) -> int:
    question = ComparisonQuestion(variants=("r4", "r5"), images=1, **asked)
    return (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]


async def test_a_comparison_ends_as_cancelled_with_the_reason(cycle, past, farm, reconfigure, way):
    replaced, why = way
    ab_test_id = await started(farm)
    for position in (4, 5):
        await past.image(position)
    await cycle.run()
    (probe,) = await farm.store.probes()
    await lab_answers(past)
    await cycle.run()
    reconfigure(farm, *replaced)
    await cycle.run()
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert (shown["state"], shown["now"], shown["boots_done"]) == ("cancelled", why, 1)
    assert why in shown["text"]
    assert why in shown["markdown"]
    assert {p.state for p in await farm.store.probes_of_ab_test(ab_test_id)} == {
        "done",
        "cancelled",
    }
    assert (await farm.store.probe(probe.id)).state == "done"


async def test_a_comparison_that_awaits_approval_ends_too(cycle, past, farm, reconfigure, way):
    replaced, why = way
    ab_test_id = await started(farm)
    ab_test = await farm.store.ab_test(ab_test_id)
    await farm.store.change_ab_test(ab_test, state="awaiting approval")
    reconfigure(farm, *replaced)
    await cycle.run()
    ended = await farm.store.ab_test(ab_test_id)
    assert (ended.state, ended.detail) == ("cancelled", why)


async def test_a_comparison_on_two_testbeds_goes_on_where_it_can(
    make_farm, master, past, reconfigure, errors
):
    farm = past.farm = make_farm(BOTH)
    cycle = Cycle(farm=farm, scheduler=master)
    ab_test_id = await started(farm)
    for position in (4, 5):
        await past.image(position)
    await cycle.run()
    assert {probe.testbed for probe in await farm.store.probes()} == {"apu", "xeon"}
    reconfigure(farm, *APU_REMOVED)
    await worked(cycle, past)
    shown = await ComparisonViews(farm).describe(ab_test_id)
    assert (shown["state"], shown["now"]) == ("done", "testbed apu is no longer in bench.yml")
    assert shown["boots_done"] == 10
    probes = await farm.store.probes_of_ab_test(ab_test_id)
    assert {p.state for p in probes if p.testbed == "apu"} == {"cancelled"}
