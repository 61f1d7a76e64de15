"""The mails about a breakage and about the end of an incident: one each, in one thread."""

from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.incident.model import Breakage, Ending
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.columns import ReportState
from buildbot_bench.plugin.db.finding_rows import Recovery
from buildbot_bench.plugin.outbox.mail_outbox import MailOutbox
from buildbot_bench.plugin.outbox.search_mails import (
    NEWS_S,
    write_breakages,
    write_recoveries,
    write_search_mail,
)
from tests.fakes.database import iterated
from tests.fakes.past import Past, boots

HOSTILE = "panic: \x1b[31m<b>evil</b>\u202e\r\nBcc: all@example.org " + "x" * 5000


async def broken(past, *, kind: str = "boot", old: int = 4, reason: str = "panic: page fault"):
    """r6 broke it, as a search from r1 to r11 found; with `old`, the commits before it may have."""
    await past.commits(*range(1, 20))
    answer = Breakage(ending=Ending.BROKEN, old=old, new=5, reason=reason, detail="proved")
    about = {"testbed": "", "workload": ""} if kind == "build" else {}
    return await past.search(
        kind=kind, state="found", breakage=answer, ended_at=past.farm.now(), **about
    )


def ended(past, old: int = 14, new: int = 15, difference: float | None = None) -> Recovery:
    return Recovery(
        old_sha=past.shas[old],
        old_label=f"r{old}",
        old_position=old,
        new_sha=past.shas[new],
        new_label=f"r{new}",
        new_position=new,
        at_s=past.farm.now(),
        difference=difference,
    )


async def mails(farm):
    """What is to be sent, with its message parsed."""
    rows = await farm.store.due_reports(farm.now())
    return [(row, message_from_bytes(row.message, policy=policy.default)) for row in rows]


def words(mail) -> str:
    return " ".join(mail.get_body(("plain",)).get_content().split())


@pytest.mark.both_databases
async def test_a_breakage_is_told_once_with_its_commit_and_what_it_says(past, farm):
    search = await broken(past)
    await write_breakages(farm, farm.workflow.mail)
    await write_breakages(farm, farm.workflow.mail)
    ((row, mail),) = await mails(farm)
    assert row.key == f"search:{search.id}"
    assert mail["Subject"] == "[bench] does not boot on apu since r6: panic: page fault"
    assert list(row.recipients) == ["net@example.org", "ann@example.org"]
    assert "A boot on apu fails with forwarding since r6. r5 works. r6 broke it." in words(mail)
    assert f"http://farm.example.org/#/bench/searches/{search.id}" in words(mail)
    html = mail.get_body(("html",)).get_content()
    assert "Change 6" in html


async def test_a_build_is_of_no_testbed_and_a_stretch_names_all_its_commits(past, farm):
    await broken(past, kind="build", old=2, reason="a.c:1: error: no")
    await write_breakages(farm, farm.workflow.mail)
    ((_, mail),) = await mails(farm)
    assert mail["Subject"] == "[bench] does not build since r4..r6: a.c:1: error: no"
    assert "One of 3 commits broke it." in words(mail)
    for position in (4, 5, 6):
        assert f"Change {position}" in words(mail)


async def test_what_a_kernel_says_moves_no_cursor_and_adds_no_header(past, farm):
    await broken(past, reason=HOSTILE)
    await write_breakages(farm, farm.workflow.mail)
    ((row, mail),) = await mails(farm)
    assert mail["Bcc"] is None
    assert "\x1b" not in mail.as_string()
    assert "\u202e" not in words(mail)
    assert "<b>evil" not in mail.get_body(("html",)).get_content()
    assert len(row.message) < 20_000


async def test_the_subject_has_the_panic_of_the_console_rather_than_how_the_lab_saw_it(past, farm):
    search = await broken(past, reason="the kernel ended with status 70 when it booted")
    probe = await past.probe(6, search_id=search.id, reason="search")
    log = "booting\npanic: page fault\ncpuid = 0\n\x1b[2J"
    await iterated(farm.store, probe, "ended", at_s=farm.now(), log=log)
    await write_breakages(farm, farm.workflow.mail)
    ((_, mail),) = await mails(farm)
    assert mail["Subject"] == "[bench] does not boot on apu since r6: panic: page fault"
    assert "ended with status 70 when it booted The end of the console booting panic" in words(mail)


async def test_a_kernel_that_boots_and_passes_no_traffic_is_told_as_that(past, farm):
    reason = "no packet arrived; the known-good kernel passes traffic"
    search = await broken(past, reason=reason)
    await write_breakages(farm, farm.workflow.mail)
    await farm.store.change(search, recovery=ended(past))
    await write_recoveries(farm, farm.workflow.mail)
    (_, first), (_, second) = await mails(farm)
    assert first["Subject"].startswith(
        "[bench] does not pass forwarding on apu since r6: no packet"
    )
    assert second["Subject"] == "[bench] passes forwarding on apu again since r15"


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        ("boot", "[bench] boots on apu again since r15"),
        ("build", "[bench] builds again since r15"),
    ],
)
async def test_its_end_is_told_once_to_the_same_people_in_its_thread(past, farm, kind, subject):
    search = await broken(past, kind=kind)
    await write_breakages(farm, farm.workflow.mail)
    await write_recoveries(farm, farm.workflow.mail)
    assert len(await mails(farm)) == 1
    await farm.store.change(search, recovery=ended(past))
    for _ in range(2):
        await write_recoveries(farm, farm.workflow.mail)
    (_, first), (row, second) = await mails(farm)
    assert row.key == f"recovery:{search.id}"
    assert second["Subject"] == subject
    assert second["In-Reply-To"] == first["Message-ID"]
    assert second["References"].split()[-1] == first["Message-ID"]
    assert second["References"].split()[:-1] == first["References"].split()
    assert second["To"] == first["To"]
    assert first["Subject"] in words(second)


@pytest.mark.both_databases
async def test_a_level_that_is_back_is_told_in_the_thread_of_its_culprit(past, farm):
    await past.commits(*range(1, 20))
    for position, level in ((1, 1e6), (5, 1e6), (6, 9e5), (11, 9e5)):
        await past.measured(position, boots(level, series=position))
    step = Step(old=4, new=5, effect=-0.1, low=-0.11, high=-0.09, probability=0.999)
    answer = Answer(steps=(step,), reproduced=True, unresolved=(), reason="located")
    search = await past.answered(answer)
    await write_search_mail(farm, farm.workflow.mail, search)
    await farm.store.change(search, recovery=ended(past, 12, 15, difference=-0.004))
    await write_recoveries(farm, farm.workflow.mail)
    (_, first), (_, second) = await mails(farm)
    assert second["Subject"] == "[bench] forwarding on apu is back at its level since (r12, r15]"
    assert second["In-Reply-To"] == first["Message-ID"]
    assert "The incident of r6 is over. It measures 0.4 % less than before that commit." in words(
        second
    )
    assert "or by a commit before it, after r12" in words(second)


async def test_the_end_of_what_nobody_was_told_of_is_told_to_nobody(past, farm):
    search = await broken(past)
    await farm.store.change(search, recovery=ended(past))
    await write_recoveries(farm, farm.workflow.mail)
    assert await mails(farm) == []


async def test_nobody_is_told_of_the_end_of_what_waits_for_the_digest(past, farm):
    search = await broken(past)
    await write_breakages(farm, farm.workflow.mail)
    ((row, _),) = await mails(farm)
    await farm.store.change(row, state=ReportState.WITHHELD)
    await farm.store.change(search, recovery=ended(past))
    await write_recoveries(farm, farm.workflow.mail)
    assert await mails(farm) == []


async def test_nobody_is_told_of_a_breakage_of_long_ago(past, farm, master):
    await broken(past)
    master.reactor.advance(NEWS_S + 1)
    await write_breakages(farm, farm.workflow.mail)
    assert await mails(farm) == []


async def test_the_outbox_writes_both_and_takes_a_breakage_for_no_culprit(make_farm, published):
    farm = make_farm()
    past = Past(farm, published[2])
    search = await broken(past)
    await farm.store.change(search, recovery=ended(past))
    await MailOutbox(farm).advance()
    assert {row.key for row in await farm.store.mails_like("")} == {
        f"search:{search.id}",
        f"recovery:{search.id}",
    }


@pytest.mark.parametrize(
    ("kind", "begun", "over"),
    [
        ("boot", "does not boot on apu since r6", "boots on apu again since r15"),
        ("build", "does not build since r6", "builds again since r15"),
    ],
)
async def test_a_farm_of_several_branches_names_the_branch(make_farm, published, kind, begun, over):
    farm = make_farm(("branches: [main]", "branches: [main, stable/14]"))
    await farm.store.keep_branch("main", trunk=None, fork_position=0)
    await farm.store.keep_branch("stable/14", trunk="main", fork_position=3)
    search = await broken(Past(farm, published[2]), kind=kind)
    await write_breakages(farm, farm.workflow.mail)
    await farm.store.change(search, recovery=ended(Past(farm, published[2])))
    await write_recoveries(farm, farm.workflow.mail)
    (_, first), (_, second) = await mails(farm)
    assert first["Subject"] == f"[bench] main: {begun}: panic: page fault"
    assert f"On main a {kind} " in words(first)
    assert second["Subject"] == f"[bench] main: {over}"
    assert f"The branch main {over}" in words(second)


async def test_the_mail_of_a_culprit_names_the_branch_of_one_of_several(make_farm, published):
    farm = make_farm(("branches: [main]", "branches: [main, stable/14]"))
    await farm.store.keep_branch("main", trunk=None, fork_position=0)
    await farm.store.keep_branch("stable/14", trunk="main", fork_position=3)
    past = Past(farm, published[2])
    await past.commits(*range(1, 20))
    for position, level in ((1, 1e6), (5, 1e6), (6, 9e5), (11, 9e5)):
        await past.measured(position, boots(level, series=position))
    step = Step(old=4, new=5, effect=-0.1, low=-0.11, high=-0.09, probability=0.999)
    answer = Answer(steps=(step,), reproduced=True, unresolved=(), reason="located")
    await write_search_mail(farm, farm.workflow.mail, await past.answered(answer))
    ((_, mail),) = await mails(farm)
    assert mail["Subject"].startswith("[bench] main: r6 (")
    assert "On branch main, r6 made forwarding on apu 9.7 % slower" in words(mail)
