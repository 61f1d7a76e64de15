"""`bench-farm run`, as at a terminal: nothing of the farm outlives it, however it ends."""

import codecs
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from buildbot_bench.demo.watching import answers
from tests.e2e.replay_farm import DEADLINE_S, end_processes_in, processes_in
from tests.ports import free_port
from tests.running import ran

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

RUNS = "Ctrl-C or closing this terminal stops it"


class Terminal:
    """`bench-farm run` in a shell that has a terminal of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ports = (free_port(), free_port())
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end in a character
        command = f"{Path(sys.executable).parent / 'bench-farm'} run --dir {directory / 'farm'}"
        command += f" --port={self.ports[0]} --pb-port={self.ports[1]}"
        self.shell, self._terminal = pty.fork()
        if self.shell == 0:
            environment = os.environ | {"XDG_CONFIG_HOME": str(directory / "config")}
            os.chdir(directory)
            os.execvpe("sh", ["sh", "-c", f"{command}; echo status $?"], environment)
        self._wait_for(RUNS)
        self.wait_until(lambda: all(map(answers, self.ports)))

    @property
    def keeper(self) -> int:
        """bench-farm's own process."""
        found = ran(["ps", "-A", "-o", "pid=", "-o", "ppid="], check=True)
        pairs = [map(int, line.split()) for line in found.stdout.splitlines()]
        (pid,) = [pid for pid, parent in pairs if parent == self.shell]
        return pid

    def close(self) -> None:
        """As when a window is closed, or a connection breaks."""
        os.close(self._terminal)
        os.waitpid(self.shell, 0)

    def status(self) -> int:
        """What bench-farm ended with."""
        ended = self._wait_for(r"status (\d+)\s")
        os.waitpid(self.shell, 0)
        return int(ended[1])

    def nothing_is_left(self) -> None:
        """Of what the farm started; its ports are free."""
        self.wait_until(
            lambda: not processes_in(self.directory) and not any(map(answers, self.ports))
        )

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Fails with the processes that are there when the condition does not come soon."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, processes_in(self.directory)
            time.sleep(0.1)

    def _wait_for(self, pattern: str) -> re.Match[str]:
        deadline = time.monotonic() + DEADLINE_S
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, self.text
            if select.select([self._terminal], [], [], 1.0)[0]:
                self.text += self._decoder.decode(os.read(self._terminal, 1 << 16))
        return found


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of one farm for all tests: it goes on where it was."""
    directory = tmp_path_factory.mktemp("keeping").resolve()
    yield directory
    end_processes_in(directory)


def test_closing_the_terminal_ends_master_and_workers(directory: Path) -> None:
    terminal = Terminal(directory)
    assert len(processes_in(directory)) >= 3
    terminal.close()
    terminal.nothing_is_left()


def test_the_farm_ends_when_bench_farm_is_killed(directory: Path) -> None:
    terminal = Terminal(directory)
    os.kill(terminal.keeper, signal.SIGKILL)
    assert terminal.status() == 128 + signal.SIGKILL
    terminal.nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_farm_ends_in_order_when_it_is_told_to(directory: Path, number: signal.Signals) -> None:
    terminal = Terminal(directory)
    os.kill(terminal.keeper, number)
    assert terminal.status() == 0
    assert "Traceback" not in terminal.text
    terminal.nothing_is_left()


def test_a_farm_that_was_left_over_is_ended_by_the_next_start(directory: Path) -> None:
    terminal = Terminal(directory)
    watchdogs = [pid for pid in processes_in(directory) if b"demo.watching" in _command(pid)]
    assert len(watchdogs) == 1
    for pid in (*watchdogs, terminal.keeper):
        os.kill(pid, signal.SIGKILL)
    terminal.status()
    assert all(map(answers, terminal.ports))
    again = Terminal(directory)
    assert "was left over" in again.text
    assert "ending its builder, lab and master." in again.text
    assert not any(map(answers, terminal.ports))
    again.close()
    again.nothing_is_left()


def _command(pid: int) -> bytes:
    """How it was called; nothing of one that has ended since it was found."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
