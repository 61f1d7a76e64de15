"""Who may reach a port is told from the words that name it."""

import pytest

from buildbot_bench.plugin.operations.hangs import listening


@pytest.mark.parametrize(
    ("port", "local", "encrypted"),
    [
        (8010, False, False),
        ("8010", False, False),
        ("tcp:8010", False, False),
        ("tcp:8010:interface=127.0.0.1", True, False),
        ("tcp:8010:interface=127.8.9.1", True, False),
        ("tcp:8010:interface=localhost", True, False),
        (r"tcp:8010:interface=\:\:1", True, False),
        (r"tcp6:8010:interface=\:\:", False, False),
        ("tcp:8010:interface=0.0.0.0", False, False),
        ("tcp:8010:interface=192.0.2.7", False, False),
        ("tcp:8010:interface=localhost.example.org", False, False),
        ("ssl:9989:privateKey=/etc/a:certKey=/etc/b", False, True),
        ("ssl:9989:interface=127.0.0.1:privateKey=/etc/a", True, True),
        ("unix:/run/bench.sock:mode=660", True, False),
        ("systemd:domain=INET:index=0", True, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_who_reaches_a_port(port: object, local: bool, encrypted: bool) -> None:
    where = listening(port, of="pages")
    assert (where.is_local, where.is_encrypted) == (local, encrypted)
