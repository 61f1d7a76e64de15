"""A farm's inbox: a real SMTP server, and its mails as a person reads them."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Self

from buildbot_bench.demo.scenario import sink
from buildbot_bench.demo.watching import answers, wait_until
from tests.e2e.replay_farm import ReplayFarm
from tests.ports import free_port


class Inbox:
    """Listens on a port of its own from `start` to `stop`, and keeps each mail in a directory."""

    def __init__(self, home: Path) -> None:
        self.directory = home / "mails"
        self.port = free_port()
        self._server = sink(self.directory, port=self.port, log=home / "smtp.log")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> None:
        self._server.start()
        wait_until(
            lambda: answers(self.port), what="the mail server", timeout_s=60, child=self._server
        )

    def stop(self) -> None:
        self._server.stop()

    def mails(self) -> list[EmailMessage]:
        """All that arrived, in the order in which they did: two may have the same date."""
        return [
            message_from_bytes(path.read_bytes(), policy=policy.default)
            for path in sorted(self.directory.glob("*.eml"))
        ]

    def about(self, words: str) -> list[EmailMessage]:
        """Those with these words in their subject."""
        return [mail for mail in self.mails() if words in str(mail["Subject"])]

    def only(self) -> EmailMessage:
        """The one mail; fails when there is none, or another."""
        (mail,) = self.mails()
        return mail

    def wait_for(self, farm: ReplayFarm, words: str, deadline_s: float) -> EmailMessage:
        """The one mail with these words in its subject, once it is there."""
        farm.wait(lambda: self.about(words), f"the mail {words!r}", deadline_s)
        (mail,) = self.about(words)
        return mail


def plain(mail: EmailMessage) -> str:
    """A mail's text, as it was written: the letter, and the report that is attached to it."""
    body = mail.get_body(("plain",))
    assert body is not None
    attached = (part.get_content() for part in mail.iter_attachments() if part.get_filename())
    return "".join([body.get_content(), *(text for text in attached if isinstance(text, str))])


def flowing(mail: EmailMessage) -> str:
    """A mail's text and report, wherever their lines break."""
    return " ".join(plain(mail).split())
