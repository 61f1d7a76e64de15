"""What people may say of reports and verdicts, and what the farm makes of it."""

import pytest

from buildbot_bench.api.requests import MoreBoots
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.follow_ups import Remeasuring
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.queries.judgements import record_json
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.requests.marks import NOBODY, MarkRequests
from buildbot_bench.plugin.requests.search_requests import measure_more
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


@pytest.fixture
def requests(farm) -> MarkRequests:
    return MarkRequests(farm)


async def marked(requests, search, kind, *, author="ann", fixed_by=""):
    return await requests.mark_search(search.id, kind, author=author, fixed_by=fixed_by)


async def test_a_report_is_marked_by_whom_buildbot_knows(requests, past, farm):
    search = await past.answered(ANSWER)
    told = await marked(requests, search, "fixed", fixed_by="r9")
    assert told == {
        "kind": "fixed",
        "author": "ann",
        "at": farm.now(),
        "fixed_by": "r9",
        "pending": False,
    }
    assert (await marked(requests, search, "noise", author=""))["author"] == NOBODY


async def test_the_last_word_stands_in_the_report_and_the_record_in_the_next_one(
    requests, past, farm
):
    await past.commits(*range(1, 12))
    await past.measured(6, boots(1e6))
    await past.measured(7, boots(0.8e6))
    search = await past.answered(ANSWER)
    assert (await report_of(farm, search)).opinion is None
    await marked(requests, search, "noise", author="\u202eann\n")
    await marked(requests, search, "expected", author="\u202eann\n")
    report = await report_of(farm, search)
    assert (report.opinion.kind, report.record.right, report.record.wrong) == ("expected", 1, 0)
    assert "\u202e" not in report.opinion.author


async def test_the_record_counts_the_last_words_on_culprits(requests, past, farm):
    for kind in ("expected", "noise", "again"):
        await marked(requests, await past.answered(ANSWER), kind)
    await marked(requests, await past.answered(ANSWER, "not-reproduced"), "noise")
    record = await record_json(farm)
    assert (record["right"], record["wrong"], record["precision"]) == (1, 1, 0.5)
    assert record["low"] == pytest.approx(0.0945, abs=1e-4)
    assert record["high"] == pytest.approx(0.9055, abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "fixed_by", "complaint"),
    [
        ("nonsense", "", "'nonsense' is no mark"),
        ("fixed", "", "takes the revision that fixed it"),
        ("fixed", "nonsense", "nonsense"),
        ("fixed", "r1", "r1 is older than the change"),
        ("noise", "r9", "'noise' takes no revision"),
    ],
)
async def test_what_makes_no_sense_is_refused(requests, past, kind, fixed_by, complaint):
    search = await past.answered(ANSWER)
    with pytest.raises(UsageError, match=complaint):
        await marked(requests, search, kind, fixed_by=fixed_by)
    assert await past.farm.store.marks_of_search(search.id) == []


async def test_there_must_be_a_report(requests, past):
    with pytest.raises(UsageError, match="has not ended"):
        await marked(requests, await past.search(), "noise")
    with pytest.raises(UsageError, match="there is no search 99"):
        await requests.mark_search(99, "noise", author="ann", fixed_by="")
    with pytest.raises(UsageError, match="there is no verdict 99"):
        await requests.mark_verdict(99, "noise", author="ann", fixed_by="")


async def test_a_doubted_report_is_searched_again_with_fresh_boots_of_both_sides(
    requests, past, farm, master
):
    await past.measured(6, boots(1e6))
    await past.measured(7, boots(0.8e6))
    doubted = await past.answered(ANSWER)
    await marked(requests, doubted, "again")
    assert master.produced
    for _ in range(2):
        await Remeasuring(farm).advance()
    again = (await farm.store.searches())[0]
    assert (again.id, again.state, again.requester) == (doubted.id + 1, "running", "ann")
    probes = await farm.store.probes_of_search(again.id)
    images = [await farm.store.image(probe.image_id) for probe in probes]
    assert [(i.label, p.iterations) for i, p in zip(images, probes, strict=True)] == [
        ("r6", 5),
        ("r7", 5),
    ]
    await Searching(farm).advance()
    assert len(await farm.store.probes_of_search(again.id)) == 2  # it waits for them
    assert (await farm.store.search(doubted.id)).state == "found"


async def test_a_doubted_search_keeps_the_fix_that_it_applied(requests, past, farm):
    fix = {"fix_sha": past.shas[9], "fix_patch": "0" * 64}
    await marked(requests, await past.answered(ANSWER, **fix), "again")
    await Remeasuring(farm).advance()
    again = (await farm.store.searches())[0]
    assert (again.fix_sha, again.fix_patch) == (past.shas[9], "0" * 64)


async def test_a_doubted_search_that_found_nothing_has_its_ends_measured_again(
    requests, past, farm
):
    nothing = Answer(steps=(), reproduced=False, unresolved=(), reason="the same")
    await marked(requests, await past.answered(nothing, "not-reproduced"), "again")
    await Remeasuring(farm).advance()
    images = [await farm.store.image(p.image_id) for p in await farm.store.probes("new")]
    assert [image.label for image in images] == ["r1", "r11"]


async def test_a_doubted_verdict_is_judged_again_when_its_fresh_boots_are_there(
    requests, past, farm
):
    await past.commits(*range(1, 12))
    for position in range(1, 11):
        await past.measured(position, boots(1e6, series=position), judged=True)
    await past.measured(11, boots(0.9e6, series=11), judged=True)
    verdict = await past.judgement(10, 11, state="regression", rounds=1)
    await requests.mark_verdict(verdict.id, "again", author="ann", fixed_by="")
    await Remeasuring(farm).advance()
    suspicion = await farm.store.judgement(verdict.id)
    assert (suspicion.state, suspicion.verdict.reason) == (
        "suspicion",
        "ann wants it measured again",
    )
    await Judging(farm).advance()
    assert (await farm.store.judgement(verdict.id)).state == "suspicion"  # they are not there yet
    assert await past.lab_answers(lambda _: 1e6) == 2  # it was the lab
    await Judging(farm).advance()
    assert (await farm.store.judgement(verdict.id)).state != "regression"


async def test_more_boots_are_asked_for_before_all_else_and_the_search_waits(past, farm, master):
    search = await past.search()
    told = await measure_more(farm, search.id, MoreBoots(revision="r5", iterations=3))
    (probe,) = await farm.store.probes_of_search(search.id)
    assert (told, probe.iterations, probe.reason) == (
        {"probeid": probe.id, "label": "r5"},
        3,
        "person",
    )
    assert probe.priority == max(p.priority for p in await farm.store.probes())
    assert master.produced
    await Searching(farm).advance()
    assert len(await farm.store.probes_of_search(search.id)) == 1
    await past.lab_answers(lambda _: 1e6)
    await Searching(farm).advance()
    assert len(await farm.store.probes_of_search(search.id)) == 2


async def test_a_fresh_build_is_another_image_and_a_broken_one_is_not_booted(past, farm):
    search = await past.search()
    await past.image(5, state="untestable")
    await past.image(5, ordinal=1)
    for fresh in (False, True):
        boots = MoreBoots(revision="r5", iterations=1, fresh=fresh)
        await measure_more(farm, search.id, boots)
    probes = await farm.store.probes_of_search(search.id)
    assert [(await farm.store.image(p.image_id)).ordinal for p in probes] == [1, 2]


async def test_a_job_that_cannot_relink_is_not_asked_for_another_build(past, farm):
    search = await past.search()
    await past.image(5, kernel_digest="a" * 64)
    await past.image(5, ordinal=1, kernel_digest="a" * 64)
    with pytest.raises(UsageError, match=r"another build of r5 .* the job cannot relink"):
        await measure_more(farm, search.id, MoreBoots(revision="r5", iterations=1, fresh=True))
    await measure_more(farm, search.id, MoreBoots(revision="r5", iterations=1))


async def test_only_revisions_of_the_range_are_measured(past, farm):
    search = await past.search(2, 9)
    with pytest.raises(UsageError, match="r10 does not lie in r2 to r9"):
        await measure_more(farm, search.id, MoreBoots(revision="r10", iterations=1))
    with pytest.raises(UsageError, match="there is no search 99"):
        await measure_more(farm, 99, MoreBoots(revision="r5", iterations=1))
