"""Hands a finished mail to an SMTP server through Twisted; it composes none and repeats no attempt.

Who calls keeps the message's bytes and its recipients until a `MailOutcome` tells that each of them
was taken or refused for good. An attempt that dies after the last byte may have been delivered
all the same: sending the same bytes again keeps the Message-ID, by which receivers drop doubles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

from twisted.internet import defer, error, reactor, ssl
from twisted.mail import smtp

from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.render.message import parse_address

_LOGIN_WANTED = 530  # of the 5yz codes the one that another setting mends
_HINT = "the mail is kept and tried again; look at the farm's mail settings if this lasts"
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
    deadline_s: float = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MailOutcome:
    """What became of each recipient: taken, to be tried again later, or refused for good."""

    accepted: tuple[str, ...]
    deferred: tuple[str, ...]
    refused: tuple[str, ...]


class MailRefused(BenchError):  # noqa: N818 - an outcome that is recorded, not a fault
    """The server refuses this message for good (5yz): sending it again is in vain."""


class _WholeMessage(BytesIO):
    """A message that is read in one piece, whatever was asked for.

    Twisted doubles the dot at the start of a line piece by piece, so it misses one that opens a
    piece; the server would take it for the end of the mail.
    """

    def read(self, _size: int | None = -1, /) -> bytes:
        """All that is left."""
        return super().read()


class _Sender(smtp.ESMTPSender):
    """Twisted's client, which after the mail was taken takes no notice of what still goes wrong.

    Its own would tell an outcome that was told already, and log that as an error.
    """

    def sendError(self, exc: Exception) -> None:
        """End the attempt, unless it has ended well."""
        if self.factory.sendFinished:
            self.transport.abortConnection()
        else:
            super().sendError(exc)


async def send(
    message: bytes, settings: SmtpSettings, *, sender: str, recipients: Sequence[str]
) -> MailOutcome:
    """Try once to hand a message over.

    Raises:
        MailRefused: The server never takes it, for none of the recipients.
        InfraError: The server may take it later, is down, is silent, or does not let us in.
        UsageError: There are no recipients, or one has no valid address.
    """
    if not recipients:
        raise UsageError("a mail without recipients", hint="name one in bench.yml under mail")
    mailboxes = {parse_address(recipient).addr_spec: recipient for recipient in recipients}
    attempt = _start(message, settings, parse_address(sender).addr_spec, list(mailboxes))
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
    except smtp.SMTPClientError as failure:
        words = _reply_text(failure.code, failure.resp)
        raise InfraError(f"{server} does not let us in: {words}", hint=_HINT) from None
    except defer.TimeoutError:
        late = f"{server} did not take the mail within {settings.deadline_s:g} s"
        raise InfraError(late, hint=_HINT) from None
    except (error.ConnectError, error.ConnectionClosed, OSError) as failure:
        raise InfraError(f"{server} does not answer: {failure}", hint=_HINT) from failure
    return _sort(answers, mailboxes)


def _start(
    message: bytes, settings: SmtpSettings, sender: str, recipients: list[str]
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
        _WholeMessage(message.replace(b"\r\n", b"\n")),  # Twisted ends the lines itself
        outcome,
        retries=0,
        timeout=settings.silence_s,
        contextFactory=ssl.optionsForClientTLS(settings.host) if settings.starttls else None,
        heloFallback=not (settings.starttls or settings.user),
        requireAuthentication=settings.user is not None,
        requireTransportSecurity=settings.starttls,
    )
    factory.protocol = _Sender
    factory.noisy = False
    connector = reactor.connectTCP(
        settings.host, settings.port, factory, timeout=settings.silence_s
    )
    return outcome


def _verdict(refusal: smtp.SMTPDeliveryError) -> tuple[list[int], str]:
    """The codes that decide, and the server's words: to each recipient, or else to the message."""
    answers: Sequence[_Answer] = refusal.addresses or ()
    if not answers or any(_is_success(code) for _, code, _ in answers):
        return [refusal.code], _reply_text(refusal.code, refusal.resp)
    replies = (
        f"{address.decode('ascii')}: {_reply_text(code, words)}" for address, code, words in answers
    )
    return [code for _, code, _ in answers], "; ".join(replies)


def _reply_text(code: int, words: bytes) -> str:
    """What a server said, made harmless; Twisted gives no code to words of its own."""
    said = one_line(words.decode("utf-8", "replace"))
    return f"{code} {said}" if code > 0 else said


def _sort(answers: Iterable[_Answer], mailboxes: Mapping[str, str]) -> MailOutcome:
    """The recipients, as the caller wrote them, by what the server said to each."""
    said = {mailboxes[address.decode("ascii")]: code for address, code, _ in answers}
    return MailOutcome(
        accepted=tuple(one for one, code in said.items() if _is_success(code)),
        deferred=tuple(
            one for one, code in said.items() if not _is_success(code) and not _is_permanent(code)
        ),
        refused=tuple(one for one, code in said.items() if _is_permanent(code)),
    )


def _is_success(code: int) -> bool:
    return 200 <= code < 300


def _is_permanent(code: int) -> bool:
    return 500 <= code < 600 and code != _LOGIN_WANTED
