"""Which of several masters a worker connects to: one that answers, whichever that is."""

import socket

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.worker_connection import (
    TRIES,
    MasterAddress,
    WorkerConnection,
    master_address,
    worker_connection,
)
from tests.ports import free_port


@pytest.mark.parametrize(
    ("named", "host", "port"),
    [
        ("farm.example.org", "farm.example.org", 9989),
        ("farm.example.org:1234", "farm.example.org", 1234),
        ("[2001:db8::1]:1234", "2001:db8::1", 1234),
        ("[2001:db8::1]", "2001:db8::1", 9989),
    ],
)
def test_the_only_master_is_tried_for_ever(named: str, host: str, port: int):
    assert master_address(named) == MasterAddress(host=host, port=port)


def test_of_several_the_one_that_answers_is_taken_and_left_when_it_goes():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        named = f"127.0.0.1:{free_port()}, 127.0.0.1:{port}"
        chosen = {master_address(named) for _ in range(10)}
    assert chosen == {MasterAddress(host="127.0.0.1", port=port, tries=TRIES)}


def test_when_none_answers_one_is_tried_all_the_same():
    ports = {free_port(), free_port()}
    assert master_address(",".join(f"127.0.0.1:{port}" for port in ports)).port in ports


@pytest.mark.parametrize("named", ["", "farm:", "farm:x", "farm,", ":9989"])
def test_what_is_no_address_is_refused_by_its_name(named: str):
    with pytest.raises(UsageError, match=r"BENCH_MASTER: .* is no address"):
        master_address(named)


def test_a_worker_on_this_machine_connects_plainly(tmp_path):
    found = worker_connection({"BENCH_MASTER_PORT": "1234"}, tmp_path)
    assert found == WorkerConnection(string="tcp:host=localhost:port=1234", tries=None)


def test_a_worker_with_an_authority_to_trust_connects_by_tls(tmp_path):
    (tmp_path / "trust").mkdir()
    found = worker_connection({"BENCH_MASTER": "farm.example.org"}, tmp_path)
    assert found.string == f"tls:host=farm.example.org:port=9989:trustRoots={tmp_path}/trust"


def test_a_worker_elsewhere_without_an_authority_is_told_what_to_do(tmp_path):
    environ = {"BENCH_MASTER": "farm.example.org"}
    with pytest.raises(UsageError, match=r"trust is not there") as told:
        worker_connection(environ, tmp_path)
    assert "bench-farm certificates" in str(told.value)
    plain = worker_connection(environ | {"BENCH_UNENCRYPTED": "yes"}, tmp_path)
    assert plain.string == "tcp:host=farm.example.org:port=9989"
