"""A branch that stopped building or booting is searched by the farm, once, and closes by itself."""

from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.incident.model import Ending
from buildbot_bench.plugin.broker.breakages import Breakages
from buildbot_bench.plugin.db.columns import SearchKind
from buildbot_bench.plugin.outbox.search_mails import write_breakages
from buildbot_bench.plugin.queries.breakage_views import breakage_report
from buildbot_bench.render.message import notice_text
from tests.fakes.breaking_lab import ERROR, PANIC, Lab, broken_since
from tests.fakes.past import Past


async def the_search(farm):
    (search,) = await farm.store.searches(kinds=(SearchKind.BUILD, SearchKind.BOOT))
    return search


@pytest.mark.both_databases
async def test_what_broke_the_boot_is_found_between_the_last_that_works_and_the_tip(past, farm):
    lab = Lab(past, broken_since(7))
    await lab.came(2, 14, 15, 16)
    await past.commits(*range(2, 17))
    await lab.settle()
    search = await the_search(farm)
    assert (search.kind, search.testbed, search.workload) == ("boot", "apu", "forwarding")
    assert (search.state, search.breakage.ending) == ("found", Ending.BROKEN)
    assert (search.breakage.old, search.breakage.new) == (4, 5)  # r6 and r7, counted from r2
    assert search.breakage.reason == f"{PANIC} 7"
    assert len(lab.booted) <= 4 + 2


async def test_what_broke_the_build_is_found_by_builds_alone_for_all_testbeds(make_farm, published):
    farm = make_farm(
        ("runs-on: apu", "runs-on: [apu, xeon]"), ("[forwarding]", "[forwarding, ipfw]")
    )
    past = Past(farm, published[2])
    lab = Lab(past, broken_since(7, "error"))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    await lab.settle()
    search = await the_search(farm)
    assert (search.kind, search.testbed, search.state) == ("build", "", "found")
    assert (search.breakage.old, search.breakage.new) == (4, 5)
    assert search.breakage.reason == ERROR
    assert len(lab.built) <= 4 + 1
    assert lab.booted == []


async def test_two_commits_that_fail_call_for_nothing(past, farm):
    lab = Lab(past, broken_since(15))
    await lab.came(2, 13, 14, 15, 16)
    await lab.settle()
    assert await farm.store.searches() == []


async def test_without_a_commit_that_ever_worked_nothing_is_searched(past, farm):
    lab = Lab(past, broken_since(0))
    await lab.came(2, 13, 14, 15, 16)
    await lab.settle()
    assert await farm.store.searches() == []


async def test_a_farm_that_is_told_not_to_searches_no_breakage(make_farm, published):
    farm = make_farm(("  workflow_dispatch:", "  workflow_dispatch:\n  breakage: false"))
    lab = Lab(Past(farm, published[2]), broken_since(7))
    await lab.came(2, 14, 15, 16)
    await lab.settle()
    assert await farm.store.searches() == []


@pytest.mark.parametrize("doubted", [True, False])
async def test_a_testbed_in_quarantine_breaks_no_branch(past, farm, doubted):
    lab = Lab(past, broken_since(7))
    await lab.came(2, 14, 15, 16)
    control = await past.measured(2, (1e6,), reason="control")
    await past.quarantine(
        control.id, since_s=0.0 if doubted else farm.now(), reason="it gave no value"
    )
    await lab.settle()
    assert await farm.store.searches() == []


async def test_a_search_that_has_begun_waits_while_its_testbed_is_in_quarantine(past, farm):
    lab = Lab(past, broken_since(7))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    await Breakages(farm).advance()
    control = await past.measured(2, (1e6,), reason="control")
    held = await past.quarantine(control.id, since_s=farm.now(), reason="it gave no value")
    before = list(lab.booted)
    await lab.turn()
    # What was asked for before is answered, and in doubt.
    booted = len(lab.booted)
    await lab.turn()
    assert len(lab.booted) == booted <= len(before) + 1
    await farm.store.change(held, ended_at=farm.now(), ended_by="ann")
    farm.master.reactor.advance(1)
    await lab.settle()
    assert (await the_search(farm)).breakage.new == 5


async def test_the_same_breakage_is_searched_once_however_many_commits_come(past, farm):
    lab = Lab(past, broken_since(7))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    await lab.settle()
    await lab.came(17, 18, 19)
    await lab.settle()
    assert (await the_search(farm)).new_position == 16


async def test_a_search_that_was_cancelled_is_not_begun_again(past, farm):
    lab = Lab(past, broken_since(7))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    await Breakages(farm).advance()
    await farm.store.change(await the_search(farm), state="cancelling")
    await lab.settle()
    await lab.came(17, 18)
    await lab.settle()
    assert (await the_search(farm)).state == "cancelled"
    assert all(probe.state != "new" for probe in await farm.store.probes())


async def test_one_accident_is_no_breakage_and_the_kernel_counts_as_one_that_boots(past, farm):
    lab = Lab(past, lambda position: "accident" if position == 14 else broken_since(15)(position))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    lab.truth = broken_since(15)
    await lab.settle()
    assert (await the_search(farm)).breakage.new == 15 - 2
    assert (await farm.store.image_at("main", 14)).state == "built"


async def test_a_branch_that_is_mended_before_the_search_ends_is_told_to_nobody(past, farm):
    lab = Lab(past, broken_since(7, until=17))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    await Breakages(farm).advance()
    await lab.came(17)
    await lab.settle()
    search = await the_search(farm)
    assert (search.state, search.breakage) == ("not-reproduced", None)
    assert search.detail == "r17 boots again: the branch was fixed before the search ended"
    assert await farm.store.untold_breakages(0.0) == []


@pytest.mark.parametrize("how", ["panic", "error"])
async def test_an_incident_closes_by_itself_when_the_branch_is_well_again(past, farm, how):
    lab = Lab(past, broken_since(7, how, until=18))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    await lab.settle()
    await lab.came(17, 19)
    await lab.settle()
    recovery = (await the_search(farm)).recovery
    assert (recovery.old_label, recovery.new_label, recovery.difference) == ("r17", "r19", None)


async def test_a_branch_that_breaks_again_is_another_incident(past, farm):
    lab = Lab(past, lambda position: "panic" if position in {7, 8, 9, 10, 13, 14, 15} else "well")
    await past.commits(*range(2, 11))
    await lab.came(2, 8, 9, 10)
    await lab.settle()
    await lab.came(11, 12)
    await lab.settle()
    await lab.came(13, 14, 15)
    await lab.settle()
    second, first = await farm.store.searches()
    assert first.recovery.new_label == "r11"
    assert (second.state, second.old_position + second.breakage.new) == ("found", 13)


async def test_when_what_built_before_does_not_any_more_it_is_the_builder_that_changed(past, farm):
    lab = Lab(past, broken_since(7, "error"))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    lab.truth = lambda _: "error"
    await lab.settle()
    search = await the_search(farm)
    assert search.state == "inconclusive"
    assert search.detail == f"a revision that worked before now fails: {ERROR}"


async def test_commits_that_do_not_build_are_stepped_around_and_named_as_suspects(past, farm):
    def truth(position: int) -> str:
        return "error" if position in {7, 8, 9} else broken_since(8)(position)

    lab = Lab(past, truth)
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    await lab.settle()
    search = await the_search(farm)
    assert (search.breakage.old, search.breakage.new) == (4, 8)  # r6 and r10
    assert search.breakage.hidden == (5, 6, 7)


async def test_two_testbeds_that_the_same_commit_broke_are_one_incident(make_farm, published):
    farm = make_farm(("runs-on: apu", "runs-on: [apu, xeon]"))
    past = Past(farm, published[2])
    lab = Lab(past, broken_since(7))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    for position in (2, 14, 15, 16):
        image = await farm.store.image_at("main", position)
        await lab._answer(await past.probe(image, testbed="xeon", state="issued", brid=1))
    await lab.settle()
    assert (await the_search(farm)).breakage.new == 5


async def two_workloads(make_farm, published, since: int):
    """forwarding breaks at r7; ipfw works on r2 and up to the commit before `since`."""
    farm = make_farm(("[forwarding]", "[forwarding, ipfw]"))
    past = Past(farm, published[2])
    lab = Lab(past, broken_since(7))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    truth, lab.truth = lab.truth, broken_since(since)
    for position in (2, 12, 14, 15, 16):
        image = await farm.store.image_at("main", position) or await past.image(position)
        await lab._answer(await past.probe(image, workload="ipfw", state="issued", brid=1))
    lab.truth = truth
    return farm, lab


async def test_a_workload_that_broke_at_the_same_tip_joins_at_once(make_farm, published):
    farm, lab = await two_workloads(make_farm, published, since=7)
    await Breakages(farm).advance()
    search = await the_search(farm)
    await lab.settle()
    assert (await the_search(farm)).id == search.id
    report = await breakage_report(farm, await the_search(farm))
    assert report.also == ("ipfw on apu",)
    assert "It also broke ipfw on apu." in " ".join(notice_text(report).split())


async def test_a_workload_that_broke_elsewhere_gets_a_search_before_the_first_ends(
    make_farm, published
):
    """ipfw works on r12: once forwarding is known to be broken before it, these are two."""
    farm, lab = await two_workloads(make_farm, published, since=13)
    assert await lab.turn()
    running = {}
    while len(running) < 2 and await lab.turn():
        running = {s.workload: s.state for s in await farm.store.searches(kinds=(SearchKind.BOOT,))}
    assert running == {"forwarding": "running", "ipfw": "running"}


@pytest.mark.both_databases
async def test_what_could_not_be_separated_is_told_once_in_plain_words(make_farm, published):
    farm = make_farm()
    past = Past(farm, published[2])
    lab = Lab(past, broken_since(7, "error"))
    await past.commits(*range(2, 17))
    await lab.came(2, 14, 15, 16)
    lab.truth = lambda _: "error"
    await lab.settle()
    search = await the_search(farm)
    assert search.state == "inconclusive"
    for _ in range(2):
        await write_breakages(farm, farm.workflow.mail)
    (row,) = await farm.store.due_reports(farm.now())
    assert row.search_id == search.id
    assert row.subject.startswith("[bench] does not build since r3, culprit not separated: ")
    assert list(row.recipients) == list(farm.workflow.mail.to)
    mail = message_from_bytes(row.message, policy=policy.default)
    told = " ".join(mail.get_body(("plain",)).get_content().split())
    assert "r2 is the last that worked. r3 is the first that fails." in told
    assert "a revision that worked before now fails" in told
    assert "r16 does not build (1 attempt)" in told
    assert "one more mail" not in told
