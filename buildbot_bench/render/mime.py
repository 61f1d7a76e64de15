"""A text, its HTML and their pictures as one MIME message."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.errors import InvalidHeaderDefect
from email.headerregistry import Address
from email.message import EmailMessage, MIMEPart
from email.policy import SMTP
from email.utils import format_datetime

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line, quoted


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A PNG, the file's name by which HTML finds it, and what it shows, for who sees no picture."""

    name: str
    png: bytes
    alternative: str

    @property
    def content_id(self) -> str:
        """The Content-ID without its angle brackets; unique within one mail, which is enough."""
        return f"{self.name}@bench.invalid"


# Twisted's client does not ask for 8BITMIME, so a message must not need it.
_POLICY = SMTP.clone(cte_type="7bit")
# At the 78 characters that RFC 5322 recommends, Python breaks a longer subject before its first
# word and leaves an empty line. Headers without encoded words may be longer, up to 998.
_ASCII_POLICY = _POLICY.clone(max_line_length=200)


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """What a mail says: the text, the HTML with the same content, the pictures that it shows.

    `attached` is a file of text, report.txt. All mails of one incident have one `thread`.
    """

    subject: str
    text: str
    html: str
    pictures: Sequence[Picture] = ()
    attached: str = ""
    thread: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """Who writes to whom, and when.

    `sender`, `recipients` and `reply_to` are addresses with or without a name; `message_id` and
    the `references`, if others than the letter's thread, have their angle brackets; `in_reply_to`
    is the mail that this one answers.
    """

    sender: str
    recipients: Sequence[str]
    reply_to: str | None
    message_id: str
    date: datetime
    references: str = ""
    in_reply_to: str = ""


def write_message(letter: Letter, envelope: Envelope) -> EmailMessage:
    """The mail, the same bytes each time; UsageError for no address, and for lines in a header."""
    message = EmailMessage(policy=_POLICY)
    try:
        _address(message, envelope, letter)
    except ValueError as error:
        raise UsageError(f"a mail's header cannot be written: {error}") from error
    body: MIMEPart = MIMEPart(policy=_POLICY) if letter.attached else message
    if letter.pictures:
        _relate(body, _alternatives(MIMEPart(policy=_POLICY), letter), letter.pictures)
    else:
        _alternatives(body, letter)
    if letter.attached:
        message.make_mixed(_boundary(str(body.get_boundary()), letter.attached))
        message.attach(body)  # type: ignore[arg-type] # typeshed forgets that parts are no messages
        message.attach(_file(letter.attached))  # type: ignore[arg-type]
    if "MIME-Version" not in message:
        message["MIME-Version"] = "1.0"
    if all(str(value).isascii() for value in message.values()):
        message.policy = _ASCII_POLICY
    return message


def parse_address(text: str) -> Address:
    """One mail address, with or without a name."""
    address = Address()
    with suppress(ValueError, IndexError):  # several, none, or nonsense that trips the parser
        header = _POLICY.header_factory("To", text)
        if not any(isinstance(defect, InvalidHeaderDefect) for defect in header.defects):
            (address,) = header.addresses
    if not (address.username and address.domain and text.isprintable()):
        raise UsageError(
            f"{quoted(text)} is not one mail address",
            hint="write somebody@example.org or Some Body <somebody@example.org>",
        )
    if not address.addr_spec.isascii():
        raise UsageError(
            f"the mail address {quoted(address.addr_spec)} is not ASCII",
            hint="not every mail server takes such an address: use an alias of it",
        )
    return address


def _address(message: EmailMessage, envelope: Envelope, letter: Letter) -> None:
    sender = parse_address(envelope.sender)
    message["Subject"] = letter.subject
    message["From"] = sender
    message["To"] = [parse_address(recipient) for recipient in envelope.recipients]
    if envelope.reply_to:
        message["Reply-To"] = parse_address(envelope.reply_to)
    message["Date"] = format_datetime(envelope.date)
    message["Message-ID"] = envelope.message_id
    if envelope.in_reply_to:
        message["In-Reply-To"] = envelope.in_reply_to
    if envelope.references:
        message["References"] = envelope.references
    elif letter.thread:
        # No mail has this Message-ID: two searches may find the same, and servers drop doubles.
        message["References"] = f"<bench.incident.{letter.thread}@{sender.domain}>"
    message["List-Id"] = f"Buildbot Bench <bench.{sender.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["Precedence"] = "bulk"


def _alternatives(part: MIMEPart, letter: Letter) -> MIMEPart:
    """Make a part of the letter twice: who shows no HTML shows the text."""
    part.set_content(letter.text, cte="quoted-printable")
    part.add_alternative(letter.html, subtype="html", cte="quoted-printable")
    part.set_boundary(_boundary(letter.text, letter.html))
    return part


def _file(text: str) -> MIMEPart:
    part = MIMEPart(policy=_POLICY)
    part.set_content(text, cte="quoted-printable", disposition="attachment", filename="report.txt")
    return part


def _relate(message: MIMEPart, report: MIMEPart, pictures: Sequence[Picture]) -> None:
    names = [picture.content_id for picture in pictures]
    message.make_related(_boundary(str(report.get_boundary()), *names))
    message.set_param("type", report.get_content_type())  # RFC 2387 asks for it
    message.attach(report)
    for picture in pictures:
        part = MIMEPart(policy=_POLICY)
        part.set_content(
            picture.png,
            "image",
            "png",
            disposition="inline",
            filename=picture.name,
            cid=f"<{picture.content_id}>",
        )
        part["Content-Description"] = one_line(picture.alternative)
        message.attach(part)


def _boundary(*parts: str) -> str:
    """A line that no part holds, since no text holds its own digest; the same every time."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"=_bench_{digest[:40]}"
