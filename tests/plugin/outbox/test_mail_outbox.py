"""The mail of a culprit: written once, kept as bytes, and sent until the server takes it."""

from email import message_from_bytes, policy

import pytest
from twisted.internet import reactor, task

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.farm.farm import RETRY_FIRST_S, RETRY_MOST_S
from buildbot_bench.plugin.outbox.mail_outbox import MailOutbox, SmtpSettings
from tests.fakes.past import Past, boots
from tests.fakes.smtp import Postmaster, only, running

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
DEADLINE_S = SmtpSettings(host="").deadline_s
RISE = Step(old=5, new=6, effect=0.2, low=0.19, high=0.21, probability=0.999)


@pytest.fixture
def farm(make_farm, port):
    return make_farm(port=port)


@pytest.fixture
def outbox(farm, master) -> MailOutbox:
    return MailOutbox(farm)


async def found(past: Past, step: Step = DROP) -> int:
    return (await past.found(step)).id


async def advanced(outbox: MailOutbox, farm) -> object:
    """Let the outbox run a cycle and its carrier come back; the report."""
    await outbox.advance()
    while outbox.is_delivering:
        await task.deferLater(reactor, 0.01)
    (search,) = await farm.store.searches()
    return await farm.store.report_of_search(search.id)


async def test_a_culprit_is_mailed_to_all_whom_bench_yml_names(outbox, past, farm, postmaster):
    await found(past)
    report = await advanced(outbox, farm)
    assert (report.state, report.attempts, report.sent_at) == ("sent", 1, farm.now())
    (mail,) = postmaster.mails
    assert mail.rcpt_tos == ["net@example.org", "ann@example.org"]
    message = message_from_bytes(mail.content, policy=policy.default)
    assert "r7" in message["Subject"]
    assert message["Reply-To"] == "ops@example.org"
    assert message["Message-ID"] == report.message_id
    assert report.message_id == f"<bench.{report.search_id}.{int(farm.now())}@example.org>"
    assert "r7" in message.get_body(("plain",)).get_content()
    assert "r7" in message.get_body(("html",)).get_content()


async def test_the_mail_carries_the_boots_of_both_sides_as_a_picture(
    outbox, past, farm, postmaster
):
    await found(past)
    await advanced(outbox, farm)
    message = message_from_bytes(postmaster.mails[0].content, policy=policy.default)
    pictures = [part for part in message.walk() if part.get_content_type() == "image/png"]
    assert [part.get_filename() for part in pictures] == ["distribution.png"]
    assert pictures[0].get_content().startswith(b"\x89PNG")


async def test_the_mail_of_an_alarm_shows_its_series_too(outbox, past, farm, postmaster):
    await past.commits(*range(1, 12))
    for position in range(1, 12):
        level = 1e6 if position < 7 else 0.8e6
        await past.measured(position, boots(level, series=position), reason="search")
    answer = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")
    await past.answered(answer, reason="alarm")
    await advanced(outbox, farm)
    message = message_from_bytes(postmaster.mails[0].content, policy=policy.default)
    pictures = {
        part.get_filename(): part["Content-Description"]
        for part in message.walk()
        if part.get_content_type() == "image/png"
    }
    assert pictures["history.png"] == ("forwarding on apu over 11 revisions, r1 to r11: culprit r7")
    assert "cid:history.png@" in message.get_body(("html",)).get_content()


async def test_two_searches_that_found_the_same_stand_in_one_thread(outbox, past, farm, postmaster):
    await found(past)
    await advanced(outbox, farm)
    again = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="asked again")
    await past.answered(again)
    await outbox.advance()
    while outbox.is_delivering:
        await task.deferLater(reactor, 0.01)
    first, second = (message_from_bytes(mail.content) for mail in postmaster.mails)
    assert first["References"] == second["References"]
    assert first["Message-ID"] != second["Message-ID"]


async def test_it_is_written_and_sent_once_however_many_cycles_there_are(
    outbox, past, farm, postmaster, master
):
    await found(past)
    first = await advanced(outbox, farm)
    master.reactor.advance(100_000)
    assert await advanced(MailOutbox(farm), farm) == first
    assert len(postmaster.mails) == 1


async def test_what_was_written_is_sent_byte_for_byte_whatever_was_measured_since(
    outbox, past, farm, postmaster
):
    number = await found(past)
    postmaster.answer_data_with("451 later")
    written = await advanced(outbox, farm)
    await past.measured(7, boots(0.5e6), reason="search", search_id=number)
    postmaster.answer_data_with("250 OK")
    farm.master.reactor.advance(RETRY_FIRST_S)
    await advanced(outbox, farm)
    assert [mail.original_content for mail in postmaster.mails] == [written.message]


async def test_a_server_that_takes_it_later_is_tried_again_after_longer_and_longer_waits(
    outbox, past, farm, postmaster, master
):
    await found(past)
    postmaster.answer_data_with("451 disk full")
    waits = []
    for attempt in range(1, 9):
        report = await advanced(outbox, farm)
        assert (report.state, report.attempts) == ("new", attempt)
        assert "451 disk full" in report.last_error
        waits.append(report.next_try_at - farm.now())
        master.reactor.advance(waits[-1])
    assert waits[:3] == [RETRY_FIRST_S, 2 * RETRY_FIRST_S, 4 * RETRY_FIRST_S]
    assert waits[-1] == RETRY_MOST_S
    postmaster.answer_data_with("250 OK")
    assert (await advanced(outbox, farm)).state == "sent"


async def test_it_is_not_tried_before_its_time(outbox, past, farm, postmaster, master):
    await found(past)
    postmaster.answer_data_with("451 disk full")
    await advanced(outbox, farm)
    master.reactor.advance(RETRY_FIRST_S - 1)
    assert (await advanced(outbox, farm)).attempts == 1


async def test_what_is_refused_for_good_is_never_tried_again(
    outbox, past, farm, postmaster, master
):
    await found(past)
    postmaster.answer_data_with("554 spam")
    assert (await advanced(outbox, farm)).state == "refused"
    master.reactor.advance(100_000)
    postmaster.answer_data_with("250 OK")
    report = await advanced(outbox, farm)
    assert (report.state, report.attempts) == ("refused", 1)
    assert "554 spam" in report.last_error


async def test_only_those_who_were_put_off_are_tried_again(outbox, past, farm, postmaster, master):
    await found(past)
    postmaster.answer_recipient_with("ann@example.org", "450 greylisted")
    assert list((await advanced(outbox, farm)).recipients) == ["ann@example.org"]
    postmaster.answer_recipient_with("ann@example.org", "250 OK")
    master.reactor.advance(RETRY_FIRST_S)
    assert (await advanced(outbox, farm)).state == "sent"
    assert [mail.rcpt_tos for mail in postmaster.mails] == [
        ["net@example.org"],
        ["ann@example.org"],
    ]


async def test_while_one_master_sends_no_other_does_and_only_after_the_deadline_it_counts_as_dead(
    outbox, past, farm, postmaster, master
):
    number = await found(past)
    postmaster.holds = True
    await outbox.advance()
    report = await farm.store.report_of_search(number)
    while report.state != "sending":
        await task.deferLater(reactor, 0.01)
        report = await farm.store.report_of_search(number)
    assert await farm.store.due_reports(farm.now() + DEADLINE_S) == []
    assert await farm.store.due_reports(farm.now() + DEADLINE_S + RETRY_FIRST_S) == [report]
    postmaster.holds = False
    assert (await advanced(outbox, farm)).state == "sent"
    assert len(postmaster.mails) == 1


async def test_what_a_dead_master_was_sending_is_sent_by_the_next(
    outbox, past, farm, postmaster, master
):
    await found(past)
    postmaster.answer_data_with("451 later")
    report = await advanced(outbox, farm)
    await farm.store.change(report, state="sending", next_try_at=farm.now() + DEADLINE_S)
    postmaster.answer_data_with("250 OK")
    assert (await advanced(MailOutbox(farm), farm)).state == "sending"
    master.reactor.advance(DEADLINE_S)
    assert (await advanced(MailOutbox(farm), farm)).state == "sent"


async def test_an_improvement_is_written_and_wakes_nobody(outbox, past, farm, postmaster):
    await found(past, RISE)
    assert (await advanced(outbox, farm)).state == "withheld"
    assert postmaster.mails == []


@pytest.mark.parametrize("state", ["inconclusive", "not-reproduced", "cancelled"])
async def test_nothing_is_written_about_a_search_that_found_no_culprit(outbox, past, farm, state):
    answer = Answer(steps=(), reproduced=True, unresolved=((0, 10),), reason="")
    await past.answered(answer, state)
    assert await advanced(outbox, farm) is None


async def test_a_search_that_failed_tells_its_operator_why_and_what_was_measured(
    outbox, past, farm, postmaster
):
    search = await past.search(state="failed", detail="no power on the DUT", ended_at=1.0)
    await past.measured(1, (1e6, 2e6), search_id=search.id, reason="search")
    assert (await advanced(outbox, farm)).state == "sent"
    (mail,) = postmaster.mails
    assert mail.rcpt_tos == ["ops@example.org"]
    message = message_from_bytes(mail.content, policy=policy.default)
    assert message["Subject"] == f"[bench] search {search.id} failed: forwarding on apu, r1 to r11"
    letter = " ".join(message.get_body(("plain",)).get_content().split())
    assert "No power on the DUT." in letter
    (whole,) = message.iter_attachments()
    assert "1,000,000" in whole.get_content().partition("Log of the probes:")[2]


async def test_a_mail_that_cannot_be_written_holds_up_no_other(outbox, past, farm, postmaster):
    broken = await past.search(state="failed", detail="no power", ended_at=1.0)
    await farm.store.change(broken, old_sha="0" * 40)
    await found(past)
    await outbox.advance()
    while outbox.is_delivering:
        await task.deferLater(reactor, 0.01)
    assert len(postmaster.mails) == 1
    assert [search.id for search in await farm.store.unreported_searches()] == [broken.id]


async def test_without_a_person_to_answer_the_farms_own_address_is_told_of_a_failure(
    make_farm, master, published, postmaster, port
):
    farm = make_farm(("  reply-to: ops@example.org\n", ""), port=port)
    await Past(farm, published[2]).search(state="failed", detail="no power", ended_at=1.0)
    await advanced(MailOutbox(farm), farm)
    assert [mail.rcpt_tos for mail in postmaster.mails] == [["bench@example.org"]]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
async def test_the_password_is_the_secret_that_bench_yml_names(make_farm, master, published):
    login = {"authenticator": only("bench", "right"), "auth_require_tls": False}
    postmaster = Postmaster()
    with running(postmaster, auth_required=True, **login) as port:
        account = "  user: bench\n  password-secret: smtp\n"
        farm = make_farm(("mail:\n", f"mail:\n{account}"), port=port)
        await found(Past(farm, published[2]))
        master.secrets["smtp"] = "right"
        assert (await advanced(MailOutbox(farm), farm)).state == "sent"
