"""The mail server of a farm in chaos, which accepts mails, refuses them, hangs or is away."""

import time
from dataclasses import dataclass
from email import message_from_bytes, policy

from aiosmtpd.controller import Controller

from tests.fakes.smtp import HOST, READY_S, Postmaster
from tests.ports import free_port


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A mail that the server has, and when it came; `kept_silent`: its sender was not told so."""

    message_id: str
    subject: str
    at_s: float
    kept_silent: bool


class _Keeper(Postmaster):
    """Keeps what it takes, with its time."""

    def __init__(self) -> None:
        super().__init__()
        self.drops = False
        self.taken: list[Taken] = []

    async def handle_DATA(self, server, session, envelope) -> str:  # noqa: N802
        answer = await super().handle_DATA(server, session, envelope)
        if answer.startswith("2"):
            mail = message_from_bytes(envelope.original_content, policy=policy.default)
            self.taken.append(
                Taken(
                    message_id=str(mail["Message-ID"]),
                    subject=str(mail["Subject"]),
                    at_s=time.monotonic(),
                    kept_silent=self.drops,
                )
            )
        if self.drops:
            server.transport.close()
        return answer


class Post:
    """A mail server that can be told to fail."""

    def __init__(self) -> None:
        self.port = free_port()
        self._keeper = _Keeper()
        self._server: Controller | None = None

    @property
    def taken(self) -> list[Taken]:
        """All mails that it took."""
        return self._keeper.taken

    def start(self) -> None:
        """Listen, if it does not yet."""
        if self._server is None:
            self._server = Controller(
                self._keeper, hostname=HOST, port=self.port, ready_timeout=READY_S
            )
            self._server.start()

    def stop(self) -> None:
        """Be away."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def refuse(self) -> None:
        """Answer each message that it may come again later."""
        self._keeper.answer_data_with("451 try again later")

    def drop(self) -> None:
        """Take each message and hang up before the answer."""
        self._keeper.drops = True

    def work(self) -> None:
        """Be there, and take mails."""
        self._keeper.answer_data_with("250 OK")
        self._keeper.drops = False
        self.start()
