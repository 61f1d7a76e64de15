"""A mail is handed to real SMTP servers: willing, unwilling for now or for good, silent, down."""

import tempfile
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from twisted.internet import reactor, task
from twisted.trial import unittest

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.plugin.outbox.mail_outbox import MailRefused, SmtpOutcome, SmtpSettings, send
from buildbot_bench.render.message import report_letter
from buildbot_bench.render.mime import Envelope, write_message
from tests.fakes import reports
from tests.fakes.smtp import HOST, Postmaster, certificate, mute, only, running
from tests.ports import free_port

SENDER = "Buildbot Bench <bench@example.org>"
ANN, BOB, CAT = "Ann <ann@example.org>", "bob@example.org", "cat@example.org"
LOGIN = {
    "authenticator": only("bench", "right"),
    "auth_required": True,
    "auth_require_tls": False,
}
MAIL = b"Subject: hello\r\n\r\nbody\r\n"


async def sent(port, message=MAIL, recipients=(ANN,), **settings) -> SmtpOutcome:
    where = SmtpSettings(**({"host": HOST, "port": port, "silence_s": 20.0} | settings))
    return await send(message, where, sender=SENDER, recipients=recipients)


class TakenCapture(unittest.TestCase):
    async def test_a_report_arrives_as_it_was_composed(self):
        message = write_message(
            report_letter(reports.hostile()),
            Envelope(
                sender=SENDER,
                recipients=[ANN],
                reply_to=None,
                message_id="<1@example.org>",
                date=datetime(2026, 11, 21, tzinfo=UTC),
            ),
        ).as_bytes()
        postmaster = Postmaster()
        with running(postmaster) as port:
            delivery = await sent(port, message)
        assert delivery == SmtpOutcome(deferred=(), refused=())
        (mail,) = postmaster.mails
        assert mail.original_content == message
        assert (mail.mail_from, mail.rcpt_tos) == ("bench@example.org", ["ann@example.org"])
        assert message_from_bytes(mail.content, policy=policy.default)["Message-ID"]

    async def test_a_line_that_opens_with_a_dot_survives_wherever_it_stands(self):
        head = b"Subject: dots\n\n".ljust(63, b"x") + b"\n"
        for piece in (1 << 14, 1 << 15, 1 << 16):  # where a sender might cut the message
            filling = (b"x" * 63 + b"\n") * (piece // 64 - 1)
            message = head + filling + b".\n.hidden\nend\n"
            assert message[piece : piece + 1] == b"."
            postmaster = Postmaster()
            with running(postmaster) as port:
                await sent(port, message)
            assert postmaster.mails[0].original_content == message.replace(b"\n", b"\r\n")

    async def test_what_a_server_does_after_it_took_the_mail_is_of_no_account(self):
        postmaster = Postmaster(forgetful=True)
        with running(postmaster) as port:
            delivery = await sent(port, silence_s=2.0)
            await task.deferLater(reactor, 2.5)
        assert delivery == SmtpOutcome(deferred=(), refused=())
        assert self.flushLoggedErrors() == []

    async def test_a_server_that_hangs_up_after_the_message_may_have_it(self):
        postmaster = Postmaster(dropping=True)
        with running(postmaster) as port:
            with pytest.raises(InfraError) as dropped:
                await sent(port)
            assert "after the message was sent: it may have arrived" in str(dropped.value)
            assert "the same Message-ID" in str(dropped.value)
        assert len(postmaster.mails) == 1

    async def test_each_recipient_is_told_apart(self):
        postmaster = Postmaster(
            recipients={"bob@example.org": "451 later", "cat@example.org": "550 unknown"}
        )
        with running(postmaster) as port:
            delivery = await sent(port, recipients=(ANN, BOB, CAT))
        assert delivery == SmtpOutcome(deferred=(BOB,), refused=(CAT,))
        assert postmaster.mails[0].rcpt_tos == ["ann@example.org"]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
class NotNow(unittest.TestCase):
    async def test_a_server_that_is_down_is_an_infrastructure_error(self):
        port = free_port()
        with pytest.raises(InfraError) as raised:
            await sent(port)
        assert f"{HOST}:{port} does not answer" in str(raised.value)
        assert raised.value.hint

    async def test_a_temporary_refusal_of_the_message_is_an_infrastructure_error(self):
        with (
            running(Postmaster(data="451 4.3.0 disk full")) as port,
            pytest.raises(InfraError) as raised,
        ):
            await sent(port)
        assert "451 4.3.0 disk full" in str(raised.value)

    async def test_a_greylisted_recipient_is_an_infrastructure_error(self):
        grey = {"ann@example.org": "450 come back", "bob@example.org": "550 unknown"}
        with running(Postmaster(recipients=grey)) as port, pytest.raises(InfraError) as raised:
            await sent(port, recipients=(ANN, BOB))
        assert "ann@example.org: 450 come back" in str(raised.value)

    async def test_a_server_that_never_greets_is_given_up(self):
        with mute() as port, pytest.raises(InfraError):
            await sent(port, silence_s=0.2)

    async def test_a_server_that_falls_silent_is_given_up(self):
        with running(Postmaster(silent=True)) as port, pytest.raises(InfraError):
            await sent(port, silence_s=0.5)

    async def test_an_attempt_ends_at_its_deadline_however_long_silence_is_borne(self):
        with mute() as port, pytest.raises(InfraError) as raised:
            await sent(port, silence_s=3600.0, deadline_s=0.2)
        assert "did not take the mail within 0.2 s" in str(raised.value)

    async def test_a_wrong_password_waits_for_a_person_and_is_not_told(self):
        with running(Postmaster(), **LOGIN) as port, pytest.raises(InfraError) as raised:
            await sent(port, user="bench", password="wrong-secret")
        assert "535" in str(raised.value)
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__
        assert "wrong-secret" not in str(raised.value)

    async def test_a_server_that_asks_for_a_login_waits_for_a_person(self):
        with running(Postmaster(), **LOGIN) as port, pytest.raises(InfraError) as raised:
            await sent(port)
        assert "530" in str(raised.value)


class Never(unittest.TestCase):
    async def test_a_message_refused_for_good_is_told_apart(self):
        with (
            running(Postmaster(data="554 5.7.1 looks like spam\x1b[2J")) as port,
            pytest.raises(MailRefused) as raised,
        ):
            await sent(port)
        assert "554 5.7.1 looks like spam" in str(raised.value)
        assert str(raised.value).isprintable()

    async def test_recipients_who_are_all_unknown_refuse_for_good(self):
        unknown = {"ann@example.org": "550 no Ann", "bob@example.org": "553 no Bob"}
        with running(Postmaster(recipients=unknown)) as port, pytest.raises(MailRefused) as raised:
            await sent(port, recipients=(ANN, BOB))
        assert "ann@example.org: 550 no Ann; bob@example.org: 553 no Bob" in str(raised.value)

    async def test_a_mail_needs_a_recipient(self):
        with pytest.raises(UsageError):
            await sent(free_port(), recipients=())

    async def test_what_is_no_address_is_not_even_tried(self):
        with pytest.raises(UsageError):
            await sent(free_port(), recipients=("ann@example.org> SIZE=1\r\nDATA",))


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
class LetIn(unittest.TestCase):
    async def test_a_login_is_used(self):
        with running(Postmaster(), **LOGIN) as port:
            delivery = await sent(port, user="bench", password="right")
        assert delivery == SmtpOutcome(deferred=(), refused=())

    async def test_a_server_without_login_is_not_spoken_to_when_a_login_is_set(self):
        postmaster = Postmaster()
        with running(postmaster) as port, pytest.raises(InfraError):
            await sent(port, user="bench", password="right")
        assert postmaster.mails == []

    async def test_a_server_without_tls_is_not_spoken_to_when_tls_is_demanded(self):
        postmaster = Postmaster()
        with running(postmaster) as port, pytest.raises(InfraError):
            await sent(port, starttls=True)
        assert postmaster.mails == []

    async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(self):
        postmaster = Postmaster()
        with tempfile.TemporaryDirectory() as directory:
            _, context = certificate(Path(directory))
            with running(postmaster, tls_context=context) as port, pytest.raises(InfraError):
                await sent(port, host="localhost", starttls=True)
        assert postmaster.mails == []

    async def test_a_trusted_certificate_encrypts_the_dialogue(self):
        postmaster = Postmaster()
        with tempfile.TemporaryDirectory() as directory:
            path, context = certificate(Path(directory))
            trust = self.enterContext(pytest.MonkeyPatch.context())
            trust.setenv("SSL_CERT_FILE", str(path))
            with running(postmaster, tls_context=context, require_starttls=True) as port:
                delivery = await sent(port, host="localhost", starttls=True)
        assert delivery == SmtpOutcome(deferred=(), refused=())
