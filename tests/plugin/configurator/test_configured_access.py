"""A configuration that lets the wrong people in is refused, with what to write instead."""

from types import SimpleNamespace

import pytest
from buildbot.config.errors import ConfigErrors, capture_config_errors
from buildbot.plugins import util

from buildbot_bench.plugin.configurator import check_access
from buildbot_bench.plugin.operations.hangs import keep_ports, read_ports

LOOPBACK = "tcp:8010:interface=127.0.0.1"


def complaints(www: dict, mq: str = "simple") -> list[str]:
    try:
        with capture_config_errors(raise_on_error=True):
            check_access({"www": www, "mq": {"type": mq}})
    except ConfigErrors as found:
        return list(found.errors)
    return []


@pytest.mark.parametrize("beside_passwords", [True, False])
def test_a_header_is_believed_on_a_port_of_this_machine_alone(tmp_path, beside_passwords) -> None:
    remote = util.RemoteUserAuth()
    auth = util.BenchAuth(tmp_path, elsewhere=remote) if beside_passwords else remote
    for port in (LOOPBACK, "unix:/run/bench.sock"):
        assert complaints({"port": port, "auth": auth}) == []
    for port in (8010, "tcp:8010", "tcp:8010:interface=192.0.2.1"):
        (complaint,) = complaints({"port": port, "auth": auth})
        assert "RemoteUserAuth trusts a header that anybody can send" in complaint


def test_several_masters_have_a_session_key_in_common(tmp_path) -> None:
    def told() -> list[str]:
        return complaints({"port": LOOPBACK, "auth": util.BenchAuth(tmp_path)}, "wamp")

    assert "let each have the same secrets/session.key" in told()[0]
    (tmp_path / "session.key").write_text("k" * 32)
    (tmp_path / "session.key").chmod(0o600)
    assert told() == []


def test_names_at_google_have_no_roles(tmp_path) -> None:
    google = util.GoogleAuth("id", "secret")
    auth = util.BenchAuth(tmp_path, elsewhere=google)

    def of(*matchers: object) -> dict:
        return {"port": 8010, "authz": util.BenchAuthz(allowRules=[], roleMatchers=list(matchers))}

    mine = util.RolesFromUsername(roles=["bench"], usernames=["ann"])
    theirs = util.RolesFromUsername(roles=["bench"], usernames=["ann@google"])
    address = util.RolesFromEmails(bench=["ann@example.org"])
    assert complaints(of(mine, address) | {"auth": auth}) == []
    for www in (of(theirs) | {"auth": auth}, of(mine) | {"auth": google}):
        (complaint,) = complaints(www)
        assert "give roles by RolesFromEmails" in complaint


def test_what_a_master_listens_on_is_written_down_without_its_keys(tmp_path) -> None:
    assert read_ports(tmp_path) == ()
    key = "ssl:9989:privateKey=/etc/bench/master.key:certKey=/etc/bench/master.pem"
    config = SimpleNamespace(
        protocols={"pb": {"port": [key, "tcp:9990"]}, "msgpack": {"port": 9991}, "null": {}},
        www={"port": LOOPBACK},
    )
    keep_ports(tmp_path, config)
    told = [(one.of, one.port, one.is_local, one.is_encrypted) for one in read_ports(tmp_path)]
    assert told == [
        ("workers", "ssl:9989", False, True),
        ("workers", "tcp:9990", False, False),
        ("workers", "9991", False, False),
        ("pages", "tcp:8010", True, False),
    ]
    for nonsense in ("", "{}", "[1]", "[[1]]", "\udcff"):
        (tmp_path / "ports.json").write_text(nonsense, errors="surrogateescape")
        assert read_ports(tmp_path) == ()
