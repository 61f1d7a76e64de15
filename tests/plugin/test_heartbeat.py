"""Real processes that hang: they are ended, tell what their threads did, and begin anew."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from buildbot_bench import hang_watcher
from buildbot_bench.plugin.operations.hangs import (
    MOST_KEPT,
    hangs,
    has_hung,
    keep_hang,
    stacks_file,
    stacks_of,
)
from tests.running import ran

ROOT = Path(__file__).parents[2]
SOON_S = 60.0
SILENT_S = 1.0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that beats; all end with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(then: str, silent_s: float = SILENT_S, **environ: str) -> subprocess.Popen[str]:
        arguments = [str(tmp_path), str(silent_s), "0", then]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.beating_master", *arguments],
            cwd=ROOT,
            env=os.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("then", "where"), [("sleep", "stand_still"), ("hold", "hold_the_interpreter")]
)
def test_one_whose_reactor_hangs_is_ended_and_its_stacks_are_kept(start, tmp_path, then, where):
    process = start(then)
    _, log = process.communicate(timeout=SOON_S)
    assert process.returncode == -signal.SIGABRT
    assert has_hung(tmp_path)
    assert start("last").stdout.readline() == "it begins, after did not answer for 1 s\n"
    assert not has_hung(tmp_path)
    (hang,) = hangs(tmp_path)
    for stacks in (log, stacks_of(hang)):
        assert f"in {where}" in stacks
        assert "in help_others" in stacks  # of all threads
    assert abs(hang.at_s - time.time()) < SOON_S


def test_one_that_is_stopped_is_ended_and_its_stacks_are_kept(start, tmp_path):
    process = start("last")
    assert process.stdout.readline().startswith("it begins")
    process.send_signal(signal.SIGSTOP)
    assert process.wait(SOON_S) == -signal.SIGABRT
    (hang,) = [keep_hang(tmp_path)]
    assert hang.what == "did not answer for 1 s"
    assert "in run" in stacks_of(hang)


def test_a_crash_is_kept_by_its_name(start, tmp_path):
    assert start("crash").wait(SOON_S) == -signal.SIGSEGV
    assert keep_hang(tmp_path).what == "crashed: Segmentation fault"


def test_one_that_answers_goes_on_also_without_its_watcher_and_leaves_nothing(start, tmp_path):
    process = start("last")
    assert process.stdout.readline().startswith("it begins")
    (first,) = watchers(process.pid)
    os.kill(first, signal.SIGKILL)
    until(lambda: [pid for pid in watchers(process.pid) if pid != first])
    time.sleep(2 * SILENT_S)
    assert process.poll() is None
    (second,) = watchers(process.pid)
    process.kill()
    until(lambda: not Path(f"/proc/{second}").exists())
    assert not has_hung(tmp_path)


def watchers(parent: int) -> list[int]:
    listing = ran(
        ["ps", "-A", "-ww", "-o", "pid=", "-o", "ppid=", "-o", "args="], check=True
    ).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()]
    ours = [(int(pid), int(ppid)) for pid, ppid, args in rows if hang_watcher.__file__ in args]
    return [pid for pid, ppid in ours if ppid == parent]


@pytest.mark.parametrize("name", ["file", "abstract"])
def test_systemd_hears_of_a_long_start_then_of_each_beat_and_aborts_one_that_hangs(
    start, tmp_path, name
):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        address = str(tmp_path / "notify") if name == "file" else f"@bench-{tmp_path}"
        systemd.bind(address.replace("@", "\0"))
        systemd.settimeout(SOON_S)
        process = start("sleep", NOTIFY_SOCKET=address)
        said = [systemd.recv(100).decode()]
        systemd.settimeout(2 * SILENT_S)
        with suppress(TimeoutError):
            while True:
                said.append(systemd.recv(100).decode())
    ready = said.index("READY=1")
    assert set(said[:ready]) == {"EXTEND_TIMEOUT_USEC=1000000"}
    assert set(said[ready + 1 :]) <= {"WATCHDOG=1"}
    assert watchers(process.pid) == []
    assert process.poll() is None
    process.send_signal(signal.SIGABRT)  # as WatchdogSignal= is by default
    assert process.wait(SOON_S) == -signal.SIGABRT
    assert keep_hang(tmp_path).what == "was aborted: it did not answer, or a library failed"


def test_what_systemd_said_to_another_process_is_not_for_us(start):
    process = start("last", WATCHDOG_PID="1")
    assert process.stdout.readline().startswith("it begins")
    process.send_signal(signal.SIGSTOP)
    time.sleep(3 * SILENT_S)  # a minute is far off
    assert process.poll() is None


def test_only_the_newest_are_kept_and_what_is_not_ours_is_no_hang(tmp_path):
    directory = stacks_file(tmp_path).parent
    for number in range(MOST_KEPT + 5):
        keep_hang(tmp_path)
        stacks_file(tmp_path).write_text("Fatal Python error: Aborted\n\nThread 1\n")
        os.utime(stacks_file(tmp_path), (1e9 + number, 1e9 + number))
    assert keep_hang(tmp_path).at_s == 1e9 + MOST_KEPT + 4
    (directory / "notes.txt").write_text("mine")
    assert [hang.at_s for hang in hangs(tmp_path)] == [1e9 + n for n in range(5, MOST_KEPT + 5)]
