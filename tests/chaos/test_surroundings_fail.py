"""The network and the mail server that chaos uses do fail, and work again."""

import smtplib
import socket
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from tests.chaos.post import Post
from tests.chaos.relay import HOST, Relay


@pytest.fixture
def echo() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0)) as server:
        yield server


def test_a_relay_passes_on_holds_back_and_drops(echo: socket.socket) -> None:
    relay = Relay(echo.getsockname()[1])
    relay.start()
    try:
        with socket.create_connection((HOST, relay.port), timeout=30) as near:
            far, _ = echo.accept()
            near.sendall(b"one")
            assert far.recv(3) == b"one"
            relay.holds = True
            near.sendall(b"two")
            far.settimeout(0.2)
            with pytest.raises(TimeoutError):
                far.recv(3)
            relay.holds = False
            far.settimeout(30)
            assert far.recv(3) == b"two"
            assert relay.drop() == 2
            assert is_broken_off(far)
    finally:
        relay.stop()


def is_broken_off(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_mail_server_refuses_hangs_up_is_away_and_works_again() -> None:
    post = Post()
    post.start()
    try:
        post.refuse()
        with pytest.raises(smtplib.SMTPDataError):
            send(post, "<1@example.org>")
        post.work()
        post.drop()
        with pytest.raises(smtplib.SMTPException):
            send(post, "<2@example.org>")
        post.work()
        post.stop()
        with pytest.raises(OSError, match="refused"):
            send(post, "<3@example.org>")
        post.work()
        send(post, "<2@example.org>")
    finally:
        post.stop()
    found = [(mail.message_id, mail.kept_silent) for mail in post.taken]
    assert found == [("<2@example.org>", True), ("<2@example.org>", False)]


def send(post: Post, message_id: str) -> None:
    mail = EmailMessage()
    mail["From"] = mail["To"] = "a@example.org"
    mail["Message-ID"] = message_id
    with smtplib.SMTP(HOST, post.port, timeout=30) as client:
        client.send_message(mail)
