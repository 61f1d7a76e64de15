"""The processes of a farm on one machine: they start, they are watched, and they all end."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.demo.watching import NOTE, Child, answers, wait_until
from buildbot_bench.lab.files import take_lock
from tests.ports import free_port

READY = "print('ready', flush=True)"
SLEEP = f"{READY}; import time; time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"


@pytest.fixture
def child(tmp_path) -> Iterator[Child]:
    """Made of a Python program; killed at the end whatever happens."""
    made = Child(name="the child", command=[], cwd=tmp_path, env={}, log=tmp_path / "log")
    yield made
    made.kill()


def started(child: Child, program: str, *, ready: bool = True) -> Child:
    child.command = [sys.executable, "-c", program]
    child.start()
    if ready:
        wait_until(lambda: "ready" in child.tail(), what="start", timeout_s=60, child=child)
    return child


def test_a_child_that_was_never_started_does_not_run_and_may_be_stopped(child):
    assert not child.running
    child.stop()
    child.kill()


def test_a_child_that_is_asked_to_end_ends(child):
    started(child, SLEEP)
    assert child.running
    child.stop()
    assert not child.running
    assert child.process.returncode == -signal.SIGTERM


def test_a_child_that_does_not_end_when_asked_is_ended(child):
    started(child, STUBBORN)
    child.stop(grace_s=0.1)
    assert child.process.returncode == -signal.SIGKILL


def test_a_child_may_be_killed_as_by_a_power_cut(child):
    started(child, STUBBORN).kill()
    assert child.process.returncode == -signal.SIGKILL


def test_a_child_that_ended_may_be_started_again_and_its_log_goes_on(child):
    started(child, READY)
    child.process.wait()
    started(child, READY)
    child.process.wait()
    assert child.log.read_text() == "ready\nready\n"


def test_a_lock_that_a_killed_child_left_to_what_it_had_just_forked_is_waited_for(child):
    note = child.log.with_suffix(NOTE)
    forked = "import sys, time; print('held', flush=True); time.sleep(0.5)"
    lock = take_lock(note)
    with subprocess.Popen(
        [sys.executable, "-c", forked], pass_fds=(lock,), stdout=subprocess.PIPE
    ) as holder:
        os.close(lock)
        assert holder.stdout.readline() == b"held\n"
        started(child, READY)


def test_ctrl_c_reaches_only_us(child):
    started(child, SLEEP)
    assert os.getpgid(child.process.pid) != os.getpgrp()


def test_a_childs_environment_is_ours_and_what_it_is_given(child):
    child.env = {"BENCH_TEST": "7"}
    started(child, f"import os; print(os.environ['BENCH_TEST'], 'PATH' in os.environ); {READY}")
    assert "7 True" in child.tail()


def test_both_of_its_outputs_go_to_its_log_and_only_the_last_lines_are_shown(child):
    program = "import sys; [print(n) for n in range(100)]; sys.stdout.flush()"
    started(child, f"{program}; print('ready', file=sys.stderr, flush=True)")
    assert child.tail().splitlines() == [*map(str, range(86, 100)), "ready"]


def test_waiting_ends_when_what_is_waited_for_is_there():
    looks = iter([False, False, True])
    wait_until(lambda: next(looks), what="it", timeout_s=60)
    assert next(looks, None) is None


def test_waiting_for_what_does_not_come_shows_the_last_lines_of_the_log(child):
    started(child, SLEEP)
    with pytest.raises(InfraError) as error:
        wait_until(lambda: False, what="the master starts", timeout_s=0.0, child=child)
    assert str(error.value) == "the master starts: not within 0 s:\nready"


def test_waiting_for_a_child_that_ended_is_given_up_at_once(child):
    started(child, "print('no such table'); raise SystemExit(1)", ready=False)
    with pytest.raises(InfraError) as error:
        wait_until(lambda: False, what="the master starts", timeout_s=600, child=child)
    assert str(error.value) == "the master starts: the child ended:\nno such table"


def test_waiting_without_a_child_says_only_how_long():
    with pytest.raises(InfraError, match=r"^the mail comes: not within 0 s$"):
        wait_until(lambda: False, what="the mail comes", timeout_s=0.0)


def test_a_port_answers_when_something_listens_there():
    port = free_port()
    assert not answers(port)
    with socket.create_server(("127.0.0.1", port)):
        assert answers(port)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port cannot be kept for a server")
def test_a_free_port_is_kept_for_the_server_that_it_was_asked_for():
    port = free_port()
    for _ in ("a server", "the same, started again"):
        with socket.create_server(("127.0.0.1", port)):
            assert answers(port)
        with socket.socket() as another, pytest.raises(OSError, match="in use"):
            another.bind(("127.0.0.1", port))
