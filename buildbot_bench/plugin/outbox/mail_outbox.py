"""The outbox of mails, and the hand-over of one mail to an SMTP server.

Callers of `send` keep the message's bytes and recipients until a `SmtpOutcome` says that each was
accepted or refused for good. An attempt that dies after the last byte may have been delivered:
sending the same bytes again keeps the Message-ID, by which receivers drop doubles.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from twisted.internet import defer, error, reactor, ssl
from twisted.logger import Logger
from twisted.mail import smtp

from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.plugin.buildbot_fixes.smtp_client import Sender, WholeMessage
from buildbot_bench.plugin.db.finding_rows import ReportRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import RETRY_FIRST_S, for_each
from buildbot_bench.plugin.outbox.farm_mails import (
    SilenceWatch,
    write_alive,
    write_broken_workloads,
    write_quarantines,
)
from buildbot_bench.plugin.outbox.notice_outbox import Change, Outbox
from buildbot_bench.plugin.outbox.search_mails import (
    write_breakages,
    write_comparisons,
    write_digest,
    write_found,
    write_recoveries,
    write_undecided,
)
from buildbot_bench.render.mime import parse_address

_LOG = Logger()

_DEADLINE_S = 300.0
_LOGIN_WANTED = 530  # of the 5yz codes the one that another setting fixes
_HINT = "the mail is kept and tried again; look at the farm's mail settings if this lasts"
_AGAIN_HINT = "it is sent again; both copies have the same Message-ID"
_REFUSED_HINT = "look at the recipients and at the sender in the farm's mail settings"

_Answer = tuple[bytes, int, bytes]  # a recipient, and what the server said to it


@dataclass(frozen=True, kw_only=True, slots=True)
class SmtpSettings:
    """Which server takes the mails, and how long an attempt may last.

    `starttls` demands an encrypted connection with a certificate that the system trusts; `user`
    demands a login. `silence_s` is how long the server may say nothing, `deadline_s` the end of
    the whole attempt.
    """

    host: str
    port: int = 25
    starttls: bool = False
    user: str | None = None
    password: str | None = None
    silence_s: float = 60.0
    deadline_s: float = _DEADLINE_S


@dataclass(frozen=True, kw_only=True, slots=True)
class SmtpOutcome:
    """The recipients to be tried again later, and those refused for good; others were taken."""

    deferred: tuple[str, ...]
    refused: tuple[str, ...]


class MailRefused(BenchError):  # noqa: N818 - an outcome that is recorded, not a fault
    """The server refuses this message for good (5yz): sending it again is in vain."""


async def send(
    message: bytes, settings: SmtpSettings, *, sender: str, recipients: Sequence[str]
) -> SmtpOutcome:
    """Try once to hand a message over."""
    if not recipients:
        raise UsageError("a mail without recipients", hint="name one in bench.yml under mail")
    mailboxes = {parse_address(recipient).addr_spec: recipient for recipient in recipients}
    body = WholeMessage(message.replace(b"\r\n", b"\n"))  # Twisted ends the lines itself
    attempt = _start(body, settings, parse_address(sender).addr_spec, list(mailboxes))
    attempt.addTimeout(settings.deadline_s, reactor)
    server = f"the mail server {settings.host}:{settings.port}"
    try:
        _, answers = await attempt
    # Twisted's errors hold the last lines of the dialogue, a login among them: none is chained.
    except smtp.SMTPDeliveryError as refusal:
        codes, reason = _verdict(refusal)
        if all(_is_permanent(code) for code in codes):
            refused = f"{server} refuses the mail for good: {reason}"
            raise MailRefused(refused, hint=_REFUSED_HINT) from None
        later = f"{server} does not take the mail now: {reason}"
        raise InfraError(later, hint=_HINT) from None
    except (smtp.SMTPClientError, error.ConnectionClosed) as failure:
        if body.is_sent:
            lost = f"{server} closed the connection after the message was sent: it may have arrived"
            raise InfraError(lost, hint=_AGAIN_HINT) from None
        if isinstance(failure, error.ConnectionClosed):
            raise InfraError(f"{server} does not answer: {failure}", hint=_HINT) from failure
        words = _told(failure.code, failure.resp)
        raise InfraError(f"{server} does not let us in: {words}", hint=_HINT) from None
    except defer.TimeoutError:
        late = f"{server} did not take the mail within {settings.deadline_s:g} s"
        raise InfraError(late, hint=_HINT) from None
    except (error.ConnectError, OSError) as failure:
        raise InfraError(f"{server} does not answer: {failure}", hint=_HINT) from failure
    return _sort(answers, mailboxes)


def _start(
    body: WholeMessage, settings: SmtpSettings, sender: str, recipients: list[str]
) -> defer.Deferred[tuple[int, list[_Answer]]]:
    """Begin one attempt; cancelling it drops the connection."""

    def give_up(_: object) -> None:
        factory.sendFinished = True
        if factory.currentProtocol is None:
            connector.disconnect()
        else:
            factory.currentProtocol.transport.abortConnection()

    outcome: defer.Deferred[tuple[int, list[_Answer]]] = defer.Deferred(give_up)
    factory = smtp.ESMTPSenderFactory(
        None if settings.user is None else settings.user.encode(),
        None if settings.password is None else settings.password.encode(),
        sender,
        recipients,
        body,
        outcome,
        retries=0,
        timeout=settings.silence_s,
        contextFactory=ssl.optionsForClientTLS(settings.host) if settings.starttls else None,
        heloFallback=not (settings.starttls or settings.user),
        requireAuthentication=settings.user is not None,
        requireTransportSecurity=settings.starttls,
    )
    factory.protocol = Sender
    factory.noisy = False
    connector = reactor.connectTCP(
        settings.host, settings.port, factory, timeout=settings.silence_s
    )
    return outcome


def _verdict(refusal: smtp.SMTPDeliveryError) -> tuple[list[int], str]:
    """The codes that decide, and the server's words: to each recipient, or else to the message."""
    answers: Sequence[_Answer] = refusal.addresses or ()
    if not answers or any(_is_success(code) for _, code, _ in answers):
        return [refusal.code], _told(refusal.code, refusal.resp)
    told = (f"{address.decode('ascii')}: {_told(code, words)}" for address, code, words in answers)
    return [code for _, code, _ in answers], "; ".join(told)


def _told(code: int, words: bytes) -> str:
    """What a server said, made harmless; Twisted gives no code to words of its own."""
    said = one_line(words.decode("utf-8", "replace"))
    return f"{code} {said}" if code > 0 else said


def _sort(answers: Iterable[_Answer], mailboxes: Mapping[str, str]) -> SmtpOutcome:
    """The recipients, as the caller wrote them, by what the server said to each."""
    said = {mailboxes[address.decode("ascii")]: code for address, code, _ in answers}
    return SmtpOutcome(
        deferred=tuple(
            one for one, code in said.items() if not _is_success(code) and not _is_permanent(code)
        ),
        refused=tuple(one for one, code in said.items() if _is_permanent(code)),
    )


def _is_success(code: int) -> bool:
    return 200 <= code < 300


def _is_permanent(code: int) -> bool:
    return 500 <= code < 600 and code != _LOGIN_WANTED


class MailOutbox(Outbox[ReportRow]):
    """Composes what is to be mailed, and has it delivered beside the broker's cycles."""

    kind = "mail"
    refusals = (MailRefused, UsageError)
    claim_s = _DEADLINE_S + RETRY_FIRST_S

    def __init__(self, farm: Farm) -> None:
        super().__init__(farm)
        self._silences = SilenceWatch()

    async def advance(self) -> None:
        """Write the mails that are missing; start to deliver those that are due."""
        mail = self._farm.workflow.mail
        if mail is None:
            return
        await for_each(
            await self._farm.store.unreported_searches(),
            partial(write_found, self._farm, mail),
            "the mail of search",
        )
        for write in (
            write_breakages,
            write_recoveries,
            write_comparisons,
            write_undecided,
            write_digest,
            write_quarantines,
            write_alive,
            write_broken_workloads,
            self._silences.write,
        ):
            try:
                await write(self._farm, mail)
            except Exception:  # noqa: BLE001 - what is written already is delivered all the same
                _LOG.failure(
                    "bench: {part} failed; the next cycle tries again", part=write.__name__
                )
        self.start()

    async def _due(self, now: float) -> Sequence[ReportRow]:
        return await self._farm.store.due_reports(now)

    async def _deliver(self, row: ReportRow) -> Change:
        """Send it by bench.yml's server; those of its recipients who were deferred get it later."""
        mail = self._farm.workflow.mail
        if mail is None:
            raise InfraError("bench.yml has no `mail` any more")
        settings = SmtpSettings(
            host=mail.smtp_host,
            port=mail.smtp_port,
            starttls=mail.starttls,
            user=mail.user,
            password=await self._farm.secret(mail.password_secret),
        )
        outcome = await send(row.message, settings, sender=mail.from_, recipients=row.recipients)
        refused = ", ".join(outcome.refused)
        error = f"refused for good: {refused}" if refused else None
        if outcome.deferred:
            return self._later(row, error) | {"recipients": list(outcome.deferred)}
        return self._sent(error)
