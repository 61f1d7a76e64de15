"""The packet filter of this machine drops what it is asked to drop, and then no more."""

import socket
from collections.abc import Iterator

import pytest

from tests.chaos.packet_loss import PacketLoss
from tests.chaos.relay import HOST
from tests.ports import free_port


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0)) as server:
        yield server


def test_what_was_lost_comes_when_nothing_is_lost(server: socket.socket) -> None:
    loss = PacketLoss(server.getsockname()[1])
    with socket.create_connection(server.getsockname(), timeout=30) as near:
        far, _ = server.accept()
        with far:
            far.settimeout(0.3)
            loss.lose(100)
            try:
                near.sendall(b"one")
                with pytest.raises(TimeoutError):
                    far.recv(3)
            finally:
                loss.stop()
            far.settimeout(30)
            assert far.recv(3) == b"one"


def test_another_port_loses_nothing(server: socket.socket) -> None:
    loss = PacketLoss(free_port())
    loss.lose(100)
    try:
        with socket.create_connection(server.getsockname(), timeout=30) as near:
            near.sendall(b"one")
            far, _ = server.accept()
            with far:
                assert far.recv(3) == b"one"
    finally:
        loss.stop()
