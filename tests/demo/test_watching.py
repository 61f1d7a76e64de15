"""However a farm's keeper ends, nothing that it started is left; what was left over is ended."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.demo.watching import Child, end_all, running, watched
from buildbot_bench.lab.driver import Request
from buildbot_bench.lab.job import Job
from tests.e2e.replay_farm import end_processes_in, processes_in
from tests.running import ran

SOON_S = 120.0
POLITE = "import time; print('up', flush=True); time.sleep(600)"
# It hears of no SIGTERM, and what it starts has a process group of its own, as a worker's steps.
STUBBORN = f"""
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"], process_group=0)
{POLITE}
"""
KEEPER = """
import sys, time
from pathlib import Path
from buildbot_bench.demo.watching import Child
from buildbot_bench.demo.watching import watched

home, *programs = sys.argv[1:]
home = Path(home)
with watched(home, lambda text: print(text, flush=True), grace_s=1.0):
    for number, program in enumerate(programs):
        name, command = f"child{number}", [sys.executable, "-c", program]
        child = Child(name=name, command=command, cwd=home, env={}, log=home / f"{name}.log")
        child.start()
        while "up" not in child.tail():
            time.sleep(0.01)
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path.resolve()
    end_processes_in(tmp_path.resolve())


@pytest.fixture
def keeper(home: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts a process that keeps children of these programs, in a process group of its own."""

    def start(*programs: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", KEEPER, str(home), *programs],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        assert process.stdout is not None
        assert "ready\n" in process.stdout
        return process

    return start


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def nothing_is_left(home: Path) -> None:
    wait_until(lambda: not processes_in(home), f"left: {processes_in(home)}")
    assert running(home) == []


@pytest.mark.parametrize("number", ["SIGHUP", "SIGINT", "SIGTERM", "SIGKILL", "SIGQUIT"])
def test_whatever_ends_the_keeper_ends_all(home, keeper, number):
    process = keeper(POLITE, STUBBORN)
    assert len(processes_in(home)) >= 3
    process.send_signal(signal.Signals[number])
    process.wait(SOON_S)
    nothing_is_left(home)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_signal_to_the_whole_process_group_ends_all(home, keeper, number):
    process = keeper(POLITE, STUBBORN)
    os.killpg(process.pid, number)
    process.wait(SOON_S)
    nothing_is_left(home)


def test_further_signals_do_not_keep_it_from_ending_all(home, keeper):
    process = keeper(STUBBORN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)
        time.sleep(0.1)
    process.wait(SOON_S)
    nothing_is_left(home)


def test_a_terminal_that_is_closed_ends_all(home):
    child, terminal = pty.fork()
    if child == 0:
        line = '"$0" -c "$1" "$2" "$3"; true'
        os.execvp("sh", ["sh", "-c", line, sys.executable, KEEPER, str(home), STUBBORN])
    wait_until(lambda: b"ready" in os.read(terminal, 1 << 16), "it starts")
    os.close(terminal)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)
    nothing_is_left(home)


def test_a_signal_that_is_ignored_stays_so(home, keeper):
    """As nohup has it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = keeper(POLITE)
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.terminate()
    process.wait(SOON_S)
    nothing_is_left(home)


def test_what_was_left_over_is_told_and_ended(home, keeper):
    process = keeper(POLITE, STUBBORN)
    watchdog = [pid for pid in children_of(process.pid) if b"demo.watching" in command_of(pid)]
    for pid in (*watchdog, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait(SOON_S)
    left = [found.name for found in running(home)]
    assert left == ["child0", "child1"]
    told: list[str] = []
    with watched(home, told.append, grace_s=0.5):
        assert running(home) == []
    assert told == [f"An earlier farm was left over in {home}: ending its child0 and child1."]
    nothing_is_left(home)


def test_two_keepers_of_one_directory_are_one_too_many(home, keeper):
    process = keeper(POLITE)
    with (
        pytest.raises(UsageError, match=f"runs in {home} already, as process {process.pid}"),
        watched(home, print),
    ):
        pass
    assert [found.name for found in running(home)] == ["child0"]
    process.terminate()
    process.wait(SOON_S)


def test_the_next_keeper_waits_until_the_last_one_has_ended_all(home, keeper):
    process = keeper(STUBBORN)
    process.kill()
    process.wait()
    with watched(home, print):
        assert running(home) == []


def test_a_job_of_the_lab_ends_too_and_can_be_taken_up_again(home):
    artefact = home / "kernel"
    artefact.write_bytes(b"")
    state = home / "lab" / "state"
    request = Request(job="job", testbed="t", workload="w", digest="0" * 64, iterations=1)
    job = Job(state, "job")
    job.directory.mkdir(parents=True)
    job.artefact.write_bytes(b"")
    job.start_or_attach(request, artefact, lambda: time.sleep(600))
    assert job.is_running()
    end_all(home)
    assert not job.is_running()
    assert not job.is_over()
    end_all(home)


def test_a_child_whose_note_another_holds_is_not_started_twice(home):
    child, again = (
        Child(name="it", command=["sleep", "600"], cwd=home, env={}, log=home / "it.log")
        for _ in range(2)
    )
    child.start()
    with pytest.raises(InfraError, match="it runs already"):
        again.start()
    child.kill()
    again.start()
    again.kill()


def children_of(parent: int) -> list[int]:
    listing = ran(["ps", "-A", "-o", "pid=", "-o", "ppid="], check=True)
    pairs = [map(int, line.split()) for line in listing.stdout.splitlines()]
    return [pid for pid, ppid in pairs if ppid == parent]


def command_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
