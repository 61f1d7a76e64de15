"""Certificates for workers on other machines: whom they vouch for, and that keys stay private."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.demo.certificates import make_certificates
from buildbot_bench.demo.command import main
from buildbot_bench.plugin.private_files import open_to_others


def verify(trust: Path, certificate: Path, *how: str) -> bool:
    """Whether openssl takes a certificate for that of a server."""
    words = ["openssl", "verify", "-CAfile", trust / "authority.pem", "-purpose", "sslserver"]
    done = subprocess.run([*words, *how, certificate], capture_output=True, check=False)
    return done.returncode == 0


def test_the_command_makes_what_openssl_takes_for_these_names_alone(tmp_path, capsys) -> None:
    there = tmp_path / "certificates"
    assert main(["certificates", str(there), "bench.example.org", "192.0.2.7", "::1"]) == 0
    said = capsys.readouterr().out
    assert "a certificate for bench.example.org, 192.0.2.7, ::1 until " in said
    assert f"BENCH_PB=ssl:9989:privateKey={there}/master.key:certKey={there}/master.pem" in said

    trust, certificate = there / "trust", there / "master.pem"
    assert verify(trust, certificate, "-verify_hostname", "bench.example.org")
    assert verify(trust, certificate, "-verify_ip", "192.0.2.7")
    assert not verify(trust, certificate, "-verify_hostname", "other.example.org")
    assert [path.name for path in trust.iterdir()] == ["authority.pem"]
    assert list(open_to_others(there)) == []
    assert there.stat().st_mode & 0o777 == 0o700


def test_a_second_certificate_is_the_same_authoritys(tmp_path) -> None:
    make_certificates(tmp_path, ["a.example.org"])
    trusted = (tmp_path / "trust" / "authority.pem").read_bytes()
    make_certificates(tmp_path, ["b.example.org"])
    assert (tmp_path / "trust" / "authority.pem").read_bytes() == trusted
    name = ("-verify_hostname", "b.example.org")
    assert verify(tmp_path / "trust", tmp_path / "master.pem", *name)
    make_certificates(tmp_path / "other", ["b.example.org"])
    assert not verify(tmp_path / "other" / "trust", tmp_path / "master.pem", *name)


def test_a_certificate_ends(tmp_path) -> None:
    make_certificates(tmp_path, ["localhost"], now=datetime(2001, 1, 1, tzinfo=UTC))
    assert not verify(tmp_path / "trust", tmp_path / "master.pem")
    then = str(int(datetime(2005, 1, 1, tzinfo=UTC).timestamp()))
    assert verify(tmp_path / "trust", tmp_path / "master.pem", "-attime", then)


@pytest.mark.parametrize("host", ["", "a b", "-x", "a..b", "ä.example.org", "a/b", "x" * 254])
def test_what_is_no_name_of_a_machine_is_refused(tmp_path, host) -> None:
    with pytest.raises(UsageError, match="is no name of a machine"):
        make_certificates(tmp_path, [host])


def test_half_an_authority_is_not_replaced(tmp_path) -> None:
    make_certificates(tmp_path, ["localhost"])
    (tmp_path / "authority.pem").write_text("damaged")
    with pytest.raises(UsageError, match="no authority that can be read"):
        make_certificates(tmp_path, ["localhost"])
    (tmp_path / "authority.pem").unlink()
    with pytest.raises(UsageError, match="there is no"):
        make_certificates(tmp_path, ["localhost"])
