"""Which of several masters a worker connects to: one that answers, whichever that is."""

from __future__ import annotations

import socket

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.demo.processes import free_port
from buildbot_bench.masters import TRIES, MasterAddress, master_address


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
