"""Mail servers on loopback, one for each behaviour of real ones."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.ports import free_port

HOST = "127.0.0.1"
READY_S = 60.0  # on a busy machine


class Postmaster:
    """Answers what it was set to, and keeps what it took.

    `recipients` maps an address to the answer it gets instead of 250; `data` answers a message.
    `silent` never answers a message at all; `forgetful` takes it and says no word more; `dropping`
    takes it and hangs up.
    """

    def __init__(
        self,
        *,
        recipients: dict[str, str] | None = None,
        data: str = "250 OK",
        silent: bool = False,
        forgetful: bool = False,
        dropping: bool = False,
    ) -> None:
        self.mails: list[Envelope] = []
        self._recipients = recipients or {}
        self._data = data
        self._silent = silent
        self._forgetful = forgetful
        self._dropping = dropping
        self.holds = False  # a message, unanswered, until it is set back

    def answer_data_with(self, answer: str) -> None:
        """From now on, messages get this answer."""
        self._data = answer

    def answer_recipient_with(self, address: str, answer: str) -> None:
        """From now on, this recipient gets this answer."""
        self._recipients[address] = answer

    async def handle_RCPT(self, server, session, envelope, address, options) -> str:  # noqa: N802
        answer = self._recipients.get(address, "250 OK")
        if answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session, envelope) -> str:  # noqa: N802
        if self._silent:
            await asyncio.sleep(3600)
        while self.holds:  # noqa: ASYNC110 - it is set from another thread
            await asyncio.sleep(0.01)
        if self._data.startswith("2"):
            self.mails.append(envelope)
        if self._dropping:
            server.transport.close()
        return self._data

    async def handle_RSET(self, server, session, envelope) -> str:  # noqa: N802
        if self._forgetful:
            await asyncio.sleep(3600)
        return "250 OK"


@contextmanager
def running(postmaster: Postmaster, **options: object) -> Iterator[int]:
    """Serve in a thread; the value is the port."""
    port = free_port()
    controller = Controller(postmaster, hostname=HOST, port=port, ready_timeout=READY_S, **options)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()


@contextmanager
def mute() -> Iterator[int]:
    """A port that is connected to and never says a word."""
    with socket.create_server((HOST, 0)) as listener:
        yield listener.getsockname()[1]


def only(user: str, password: str):
    """An authenticator that knows one login."""

    def authenticate(server, session, envelope, mechanism, login) -> AuthResult:
        known = (login.login, login.password) == (user.encode(), password.encode())
        return AuthResult(success=known, handled=False)

    return authenticate


def certificate(directory: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate of "localhost", and the context of a server that shows it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = directory / "localhost.pem"
    pem, raw = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    plain = serialization.NoEncryption()
    path.write_bytes(signed.public_bytes(pem) + key.private_bytes(pem, raw, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return path, context
