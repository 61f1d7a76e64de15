"""A proven culprit has both its sides sampled; its mail waits for that, and not for ever."""

import hashlib
from email import message_from_bytes, policy

import pytest
from buildbot.process.properties import Properties
from twisted.internet import reactor, task

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.compare.directory import result_files
from buildbot_bench.core.compare.text import text
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.profile.formats import parse_folded, parse_pmc_graph
from buildbot_bench.core.search import Step
from buildbot_bench.plugin.broker.captures import MAX_ATTEMPTS, CaptureRequests
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.quarantine import end_quarantine, may_start
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.outbox.mail_outbox import MailOutbox
from buildbot_bench.plugin.queries.comparisons import ComparisonViews, directory_of
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from tests.fakes.past import Past
from tests.fakes.smtp import running

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
RISE = Step(old=5, new=6, effect=0.2, low=0.19, high=0.21, probability=0.999)
WAIT_S = 20 * 60
SAMPLED = ("testbeds:\n  apu: {", "testbeds:\n  apu: {profile: 20m, ")
OLD = "main;ip_input 700\nmain;route_lookup 100\ncpu_idle 200\n"
NEW = "main;ip_input 400\nmain;route_lookup 500\ncpu_idle 100\n"


@pytest.fixture
def farm(make_farm, port):
    return make_farm(SAMPLED, port=port)


@pytest.fixture
def profiles(farm, master) -> CaptureRequests:
    return CaptureRequests(farm, master, Issuer(farm, master))


async def found(past: Past, step: Step = DROP) -> SearchRow:
    """A search from r1 to r11 that has just found a step at r7."""
    search = await past.found(step)
    ended = await past.farm.store.change(search, ended_at=past.farm.now())
    assert ended is not None
    return ended


async def mailed(farm, master) -> str | None:
    """Let the outbox run a cycle; the text of what it wrote, if anything."""
    post = MailOutbox(farm)
    await post.advance()
    while post.is_delivering:
        await task.deferLater(reactor, 0.01)
    (search,) = await farm.store.searches()
    report = await farm.store.report_of_search(search.id)
    if report is None:
        return None
    message = message_from_bytes(report.message, policy=policy.default)
    (whole,) = message.iter_attachments()
    return " ".join(whole.get_content().split())


async def sampled(farm, row, folded: str) -> None:
    """What the step does when the lab's capture has come."""
    kept = await farm.store.add_capture(counter="cycles", folded=folded, taken_at=farm.now())
    current = await farm.store.profile(row.id)
    await farm.store.change(current, state="done", digest=kept.digest)


async def both_taken(profiles, farm, master) -> None:
    """Let cycles run, in each of which the testbed is done with the capture before."""
    for _ in range(3):
        await profiles.advance()
        for row in await farm.store.profiles(state="issued"):
            master.complete(row.brid)
            await farm.store.change(row, state="done", ended_at=farm.now())


async def test_both_sides_are_asked_for_once_and_in_turn_however_many_cycles_there_are(
    profiles, past, farm, master
):
    search = await found(past)
    for _ in range(3):
        await profiles.advance()
    assert len(master.requests) == 1
    await both_taken(profiles, farm, master)
    assert [request.builder for request in master.requests] == ["profile/apu"] * 2
    assert [request.revision for request in master.requests] == [past.shas[6], past.shas[7]]
    rows = await farm.store.profiles_of_search(search.id)
    assert [row.state for row in rows] == ["done", "done"]
    assert [request.properties["bench_profile"] for request in master.requests] == [
        row.id for row in rows
    ]


async def test_a_master_that_dies_between_asking_and_writing_it_down_asks_no_second_time(
    profiles, past, farm, master
):
    search = await found(past)
    await profiles.advance()
    row = (await farm.store.profiles_of_search(search.id))[0]
    await farm.store.change(row, state="new", brid=None)
    await profiles.advance()
    assert len(master.requests) == 1


async def test_a_testbed_in_quarantine_takes_no_captures(profiles, past, farm, master):
    search = await found(past)
    row = await past.quarantine(1, since_s=farm.now(), reason="no value")
    await profiles.advance()
    assert master.requests == []
    await end_quarantine(farm, row, by="ann")
    assert master.poked == ["bench/apu", "profile/apu"]
    await both_taken(profiles, farm, master)
    assert len(master.requests) == len(await farm.store.profiles_of_search(search.id)) == 2


async def test_a_capture_that_was_issued_before_a_quarantine_is_held_in_buildbots_queue(
    profiles, past, farm, master
):
    search = await found(past)
    await profiles.advance()
    (asked, _) = await farm.store.profiles_of_search(search.id)
    properties = Properties()
    properties.setProperty("bench_profile", asked.id, "Bench")
    request = type("Request", (), {"properties": properties})
    assert await may_start(master, None, request)
    await past.quarantine(1, since_s=farm.now(), reason="no value")
    assert not await may_start(master, None, request)


async def test_the_mail_waits_for_the_captures_and_carries_what_they_say(
    profiles, past, farm, master
):
    search = await found(past)
    await profiles.advance()
    assert await mailed(farm, master) is None
    old, new = await farm.store.profiles_of_search(search.id)
    await sampled(farm, old, OLD)
    assert await mailed(farm, master) is None
    await sampled(farm, new, NEW)
    text = await mailed(farm, master)
    assert "route_lookup 125.18 695.43 +570.26" in text
    assert f"/plugins/bench/flamegraph/{old.id}-{new.id}.svg" in text


async def test_the_mail_does_not_wait_longer_than_bench_yml_says(profiles, past, farm, master):
    await found(past)
    await profiles.advance()
    master.reactor.advance(WAIT_S - 1)
    assert await mailed(farm, master) is None
    master.reactor.advance(1)
    assert "the cause is not known: it is being sampled" in await mailed(farm, master)


async def test_a_capture_that_fails_holds_no_mail_up_and_says_why(profiles, past, farm, master):
    search = await found(past)
    await profiles.advance()
    old, new = await farm.store.profiles_of_search(search.id)
    await sampled(farm, old, OLD)
    await farm.store.change(new, state="failed", failure="94% of 100 samples are idle")
    text = await mailed(farm, master)
    assert "the cause is not known: r7: 94% of 100 samples are idle" in text


async def test_a_build_that_ended_without_a_word_is_asked_for_again_and_not_for_ever(
    profiles, past, farm, master
):
    search = await found(past)
    attempts = []
    for _ in range(2 * MAX_ATTEMPTS):
        await profiles.advance()
        rows = await farm.store.profiles_of_search(search.id)
        attempts.append(tuple(row.attempt for row in rows))
        for request in master.requests:
            request.complete = True
    assert attempts == [(0, 0), (1, 0), (2, 0), (2, 0), (2, 1), (2, 2)]
    tokens = {row.token for row in rows}
    await profiles.advance()
    rows = await farm.store.profiles_of_search(search.id)
    assert {row.failure for row in rows} == {"its build was stopped again and again"}
    assert {row.token for row in rows} == tokens


async def test_an_image_that_is_gone_for_good_has_no_capture(profiles, past, farm, master):
    search = await found(past)
    image = await farm.store.image_of(past.shas[7], 0, "")
    await farm.store.change(image, changed_at=1.0, state="untestable", reason="does not build")
    await profiles.advance()
    rows = await farm.store.profiles_of_search(search.id)
    assert [(row.state, row.failure) for row in rows] == [
        ("issued", None),
        ("failed", "does not build"),
    ]


async def test_an_improvement_and_an_older_culprit_are_not_sampled(profiles, past, farm, master):
    search = await found(past, RISE)
    await profiles.advance()
    await farm.store.change(search, state="running")
    master.reactor.advance(WAIT_S)
    await profiles.advance()
    assert master.requests == []


async def test_a_testbed_without_captures_has_none_and_its_mail_does_not_wait(
    make_farm, master, published, postmaster
):
    with running(postmaster) as port:
        farm = make_farm(port=port)
        await found(Past(farm, published[2]))
        await CaptureRequests(farm, master, Issuer(farm, master)).advance()
        assert master.requests == []
        text = await mailed(farm, master)
    assert "r7" in text
    assert "cycles" not in text


async def comparing(farm, *new: str) -> int:
    """A comparison of r4 with other variants, whose images are built."""
    others = new or ("r4+sysctl:net.a=1",)
    question = ComparisonQuestion(variants=("r4", *others), iterations=3)
    number: int = (await ComparisonRequests(farm).start(question, "ann"))["comparisonid"]
    for image in await farm.store.images(state="wanted"):
        digest = hashlib.sha256(image.variant.encode()).hexdigest()
        await farm.store.change(image, changed_at=1.0, state="built", digest=digest, size=9)
    return number


async def test_both_sides_of_a_comparison_are_sampled_while_it_goes_on(profiles, farm, master):
    ab_test = await farm.store.ab_test(await comparing(farm))
    await profiles.advance()
    await profiles.advance()
    base, new = await farm.store.profiles_of_ab_test(ab_test.id)
    assert (base.tunables, new.tunables) == ("", "net.a=1")
    assert [request.builder for request in master.requests] == ["profile/apu"]
    await sampled(farm, base, OLD)
    await profiles.advance()
    assert [request.builder for request in master.requests] == ["profile/apu"] * 2
    assert "flame graph" not in text(await ComparisonViews(farm).report(ab_test))
    await sampled(farm, new, NEW)
    report = await ComparisonViews(farm).report(ab_test)
    difference = f"/plugins/bench/flamegraph/{base.id}-{new.id}.svg"
    told = (
        f"of the difference of r4+sysctl:net.a=1 from the base: http://farm.example.org{difference}"
    )
    assert told in text(report)
    assert f"- forwarding on apu, {told}" in result_files(report, [])["README.md"]
    (series,) = to_json(report)["series"]
    assert series["changes"][0]["flame_graphs"]["difference"].endswith(difference)


async def test_each_of_many_variants_is_sampled_once_and_seen_beside_the_base(profiles, farm):
    number = await comparing(farm, "r5", "r4+sysctl:net.a=1")
    await profiles.advance()
    await profiles.advance()
    base, *others = await farm.store.profiles_of_ab_test(number)
    assert [row.key.rpartition(":")[2] for row in (base, *others)] == ["0", "1", "2"]
    for row in (base, others[1]):
        await sampled(farm, row, OLD)
    (series,) = (await ComparisonViews(farm).report(await farm.store.ab_test(number))).series
    without, with_graphs = (change.flame_graphs for change in series.changes)
    assert without is None
    assert with_graphs.difference.endswith(f"/{base.id}-{others[1].id}.svg")


async def test_captures_lie_in_the_result_directory_with_their_pictures(
    profiles, past, farm, master
):
    ab_test = await farm.store.ab_test(await comparing(farm))
    await profiles.advance()
    await profiles.advance()
    base, new = await farm.store.profiles_of_ab_test(ab_test.id)
    await sampled(farm, base, OLD)
    await sampled(farm, new, NEW)
    files = {row["path"]: row.get("text") for row in await directory_of(farm, ab_test)}
    images = ("4", "4net.a-1")
    for image in images:
        graph = files[f"PMC/bench.{image}.forwarding.pmc.graph"]
        read = parse_pmc_graph(graph.splitlines(), source="x")
        folded = files[f"PMC/bench.{image}.forwarding.folded"]
        assert read.merged().stacks == parse_folded(folded.splitlines(), source="x").merged().stacks
        assert "<svg" in files[f"bench.{image}.forwarding.svg"]
        assert f"](bench.{image}.forwarding.svg)" in files["README.md"]
        assert files[f"PMC/bench.{image}.forwarding.gprof"].startswith("Call graph")
    assert "r4+sysctl:net.a=1" in files["bench.4net.a-1.forwarding.difference.svg"]
    assert not [path for path in files if path.startswith("RAW/") and "pmc" in path]


async def test_equal_kernels_are_not_sampled_nor_those_of_a_comparison_that_was_cancelled(
    profiles, farm, master
):
    await comparing(farm, "r4+VIMAGE")
    for image in await farm.store.images():
        await farm.store.change(image, changed_at=1.0, digest="e" * 64)
    await profiles.advance()
    assert master.requests == []
    number = await comparing(farm, "r5")
    await profiles.advance()
    row = (await farm.store.profiles_of_ab_test(number))[0]
    await farm.store.change(row, state="new", brid=None)
    await ComparisonRequests(farm).cancel(number)
    await profiles.advance()
    assert (await farm.store.profile(row.id)).failure == "its comparison was cancelled"
