"""What people may ask of the farm, and what they are told when they ask amiss."""

from dataclasses import replace
from functools import partial

import pytest
from twisted.internet.defer import Deferred

from buildbot_bench.api.requests import SearchQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.metric import Metric
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import use
from buildbot_bench.plugin.requests.search_requests import SearchRequests
from tests.fakes.past import Past, boots
from tests.gitrepo import Commit, add_commits, git, make_repository, numbered
from tests.plugin.farm.test_series import TWINS

pytestmark = pytest.mark.both_databases

TWO_SERIES = (("runs-on: apu", "runs-on: [apu, xeon]"),)


@pytest.fixture
def requests(farm) -> SearchRequests:
    return SearchRequests(farm)


async def complaint(asked) -> str:
    with pytest.raises(UsageError) as error:
        await asked
    return str(error.value)


async def test_a_forecast_says_what_is_searched_and_what_it_will_cost(requests):
    told = await requests.forecast(SearchQuestion(old="r1", new="r11"))
    assert (told["old"]["label"], told["new"]["label"], told["commits"]) == ("r1", "r11", 10)
    assert (told["testbed"], told["workload"]) == ("apu", "forwarding")
    for cost in ("images", "iterations", "hours"):
        assert 0 < told[cost]["median"] <= told[cost]["p90"]
    assert told["known_iterations"] == 0


async def test_a_forecast_starts_nothing(requests, farm, master):
    await requests.forecast(SearchQuestion(old="r1", new="r11"))
    assert await farm.store.searches() == []
    assert master.produced == []


async def test_what_is_known_already_is_said(requests, past):
    await past.measured(1, boots(1e6))
    assert (await requests.forecast(SearchQuestion(old="r1", new="r11")))["known_iterations"] == 5


class Never:
    """Has no calculation end."""

    def add(self, task):
        pass


async def test_a_search_that_is_started_runs_and_the_broker_is_woken(requests, farm, master):
    before = use(Never())  # nothing is calculated first
    try:
        told = await requests.start(SearchQuestion(old="r2", new="r9"), "ann")
        assert (await requests.check(SearchQuestion(old="r2", new="r9")))["commits"] == 7
    finally:
        use(before)
    (search,) = await farm.store.searches()
    assert told["searchid"] == search.id
    assert (told["commits"], told["testbed"], told["new"]["label"]) == (7, "apu", "r9")
    assert (search.state, search.reason, search.requester) == ("running", "person", "ann")
    assert (search.old_position, search.new_position) == (2, 9)
    assert (search.min_effect, search.error) == (0.02, 0.01)
    assert master.produced == [("bench", "broker", "wake")]


async def test_thresholds_of_ones_own_go_before_the_workflows(requests, farm):
    await requests.start(SearchQuestion(old="r2", new="r9", min_effect=0.1, error=0.05), "ann")
    (search,) = await farm.store.searches()
    assert (search.min_effect, search.error) == (0.1, 0.05)


async def test_two_people_who_ask_the_same_get_two_searches(requests, farm):
    for who in ("ann", "bob"):
        await requests.start(SearchQuestion(old="r2", new="r9"), who)
    assert len(await farm.store.searches()) == 2


async def test_a_revision_that_is_none_is_named(requests):
    assert "'--help' is not a revision" in await complaint(
        requests.forecast(SearchQuestion(old="--help", new="r9"))
    )
    assert "r999" in await complaint(requests.start(SearchQuestion(old="r1", new="r999"), ""))


async def test_the_old_end_must_come_first(requests):
    assert "r9 is newer than r2" in await complaint(
        requests.forecast(SearchQuestion(old="r9", new="r2"))
    )


async def test_a_revision_has_nothing_between_it_and_itself(requests):
    assert "the same revision" in await complaint(
        requests.forecast(SearchQuestion(old="r2", new="n2"))
    )


async def test_the_only_series_need_not_be_named(make_farm):
    requests = SearchRequests(make_farm())
    named = SearchQuestion(old="r1", new="r2", testbed="apu", workload="forwarding")
    assert requests._series(named, "") == requests._series(SearchQuestion(old="r1", new="r2"), "")


async def test_of_several_series_one_must_be_chosen(make_farm):
    requests = SearchRequests(make_farm(*TWO_SERIES))
    told = await complaint(requests.forecast(SearchQuestion(old="r1", new="r9")))
    assert "several fit --testbed ? --workload ?" in told
    assert "apu/forwarding, xeon/forwarding" in told
    xeon = SearchQuestion(old="r1", new="r9", testbed="xeon")
    assert requests._series(xeon, "").testbed == "xeon"


async def test_a_series_that_there_is_not_is_answered_with_those_that_there_are(requests):
    told = await complaint(requests.forecast(SearchQuestion(old="r1", new="r9", testbed="vax")))
    assert "no testbed and workload fit --testbed vax --workload ?" in told
    assert "this farm measures apu/forwarding" in told


async def test_a_search_that_is_cancelled_is_ended_by_the_broker(requests, farm, past, master):
    search = await past.search()
    assert await requests.cancel(search.id) == "cancelling"
    assert (await farm.store.search(search.id)).state == "cancelling"
    assert master.produced == [("bench", "broker", "wake")]


async def test_a_search_that_has_ended_stays_as_it_is(requests, farm, past):
    search = await past.search(state="found", ended_at=1.0)
    assert await requests.cancel(search.id) == "found"
    assert (await farm.store.search(search.id)).state == "found"


async def test_a_search_that_there_is_not_cannot_be_cancelled(requests):
    assert await complaint(requests.cancel(17)) == "there is no search 17"


async def test_a_refused_question_leaves_no_search(make_farm):
    farm = make_farm(*TWO_SERIES)
    await complaint(SearchRequests(farm).start(SearchQuestion(old="r1", new="r9"), "ann"))
    assert await farm.store.searches() == []


async def test_who_asks_a_farm_that_has_just_started_waits_for_its_first_look(make_farm, master):
    farm = Farm(workflow=make_farm().workflow, master=master)
    waiter = Deferred.fromCoroutine(farm.mirroring.ready())
    assert not waiter.called
    farm.mirroring.taken_as_it_is()
    assert waiter.called
    assert Deferred.fromCoroutine(farm.mirroring.ready()).called


async def test_searches_of_a_label_go_to_the_testbed_that_searches_least_its_home_first(make_farm):
    farm = make_farm(*TWINS)
    requests = SearchRequests(farm)
    for question in (
        SearchQuestion(old="r1", new="r11"),
        SearchQuestion(old="r1", new="r11", testbed="twin"),
        SearchQuestion(old="r2", new="r11", testbed="twin", workload="forwarding"),
    ):
        await requests.start(question, "ann")
    searches = sorted(await farm.store.searches(), key=lambda search: search.id)
    assert [search.testbed for search in searches] == ["apu", "xeon", "apu"]


async def test_a_testbed_that_is_named_is_taken_however_busy(make_farm):
    farm = make_farm(*TWINS)
    for _ in range(2):
        await SearchRequests(farm).start(SearchQuestion(old="r1", new="r11", testbed="xeon"), "ann")
    assert {search.testbed for search in await farm.store.searches()} == {"xeon"}


async def test_a_testbed_in_quarantine_is_passed_over_while_another_of_its_kind_is_well(
    make_farm, published
):
    farm = make_farm(*TWINS)
    past = Past(farm, published[2])
    probe = await past.probe(1)
    await past.quarantine(probe.id, reason="its control image is slow")
    await SearchRequests(farm).start(SearchQuestion(old="r1", new="r11"), "ann")
    (search,) = await farm.store.searches()
    assert search.testbed == "xeon"


async def test_a_name_that_two_commits_claim_is_told_with_what_was_understood(make_farm, tmp_path):
    shas = make_repository(tmp_path / "src", numbered(1, 5))
    git(tmp_path / "src", "notes", "add", "-f", "-m", "svn path=/head/; revision=4\n", shas[4])
    farm = make_farm(repository=tmp_path / "src")
    await farm.mirroring.refresh()
    told = await SearchRequests(farm).forecast(SearchQuestion(old="r1", new="r4"))
    assert told["new"]["sha"] == shas[3]
    (warning,) = told["warnings"]
    assert warning.startswith("r4 is claimed by 2 commits of main")


async def test_an_old_end_inside_a_merge_is_searched_from_where_its_branch_left(
    make_farm, tmp_path
):
    shas = make_repository(tmp_path / "src", numbered(1, 3))
    side = add_commits(tmp_path / "src", [Commit(), Commit()], branch="side", on=shas[1])
    add_commits(tmp_path / "src", [Commit(merged=side[-1], svn=4)])
    farm = make_farm(repository=tmp_path / "src")
    await farm.mirroring.refresh()
    question = SearchQuestion(old=side[0], new="r4")
    told = await SearchRequests(farm).start(question, "ann")
    assert (told["old"]["label"], told["commits"]) == ("r2", 2)
    (warning,) = told["warnings"]
    assert warning.endswith("to r4: the search begins at r2, where its branch left that way")
    said = await complaint(SearchRequests(farm).start(replace(question, first_parent=True), "ann"))
    assert "is no first-parent ancestor of r4" in said


async def test_a_value_that_no_run_gave_is_refused_with_those_like_it(requests, farm, past):
    question = SearchQuestion(old="r2", new="r9", value="BM/70")
    assert "gave a value called 'BM/70'; its workload has value = \"all\"" in await complaint(
        requests.forecast(question)
    )
    probe = await past.measured(4, (1e6,))
    named = {Metric(name=f"BM/{n}", unit="ns", higher_is_better=False): 1.0 for n in (7, 8)}
    await farm.store.add_values(probe=probe, ordinal=0, named=named)
    assert "there are 2, such as 'BM/7'" in await complaint(requests.forecast(question))
    await requests.start(replace(question, value="BM/7"), "ann")
    (search,) = await farm.store.searches()
    assert (search.value, search.unit, search.higher_is_better) == ("BM/7", "", False)
    # It is none of what is judged: it explains no alarm, and is no mark in the history.
    over = partial(farm.store.searches_over, ("apu", "forwarding"), 1, 11, repository="")
    assert await over() == []
    assert await over(value="BM/7") == [search]
