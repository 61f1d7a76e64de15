"""The searches and comparisons that people ask of a farm in chaos, as typed commands."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.demo.farm import USER
from tests.chaos.farm import ChaosFarm
from tests.chaos.truth import WORKLOAD

_BETWEEN_PUSHES_S = 90.0
_ENDED_AND_ANSWERED = 0


@dataclass(frozen=True, kw_only=True)
class Client:
    """A command that asks and follows, and where what it says is kept."""

    command: tuple[str, ...]
    process: subprocess.Popen[bytes]
    said: Path


class Demand:
    """Has so many searches and comparisons go on at once: it asks whenever there are fewer."""

    def __init__(self, farm: ChaosFarm, *, searches: int, comparisons: int) -> None:
        self._farm = farm
        self._searches = searches
        self._comparisons = comparisons
        self._numbers = itertools.cycle(range(len(farm.truth.steps) - 20))
        self._ordinals = itertools.count(1)
        self._clients: list[Client] = []
        self._killed: set[int] = set()
        self._next_push_s = time.monotonic() + _BETWEEN_PUSHES_S
        self.ended: deque[tuple[Client, int]] = deque(maxlen=1000)

    @property
    def clients(self) -> list[Client]:
        """Those that run."""
        return [client for client in self._clients if client.process.poll() is None]

    def keep(self) -> None:
        """Ask for more where less goes on than should; the master must answer."""
        self.collect()
        if time.monotonic() > self._next_push_s:
            self._next_push_s = time.monotonic() + _BETWEEN_PUSHES_S
            self._farm.push()
        if len(self.clients) >= self._searches + self._comparisons:
            return
        farm = self._farm
        asking = sum("bisect" in client.command[0] for client in self.clients)
        open_searches = "SELECT count(*) FROM bench_search WHERE ended_at IS NULL"
        if max(asking, farm.value(open_searches)) < self._searches:
            self._ask("bisect", *farm.truth.ends(next(self._numbers)), "--workload", WORKLOAD)
        comparing = len(self.clients) - asking
        open_ab_tests = "SELECT count(*) FROM bench_ab_test WHERE ended_at IS NULL"
        if max(comparing, farm.value(open_ab_tests)) < self._comparisons:
            self._ask("compare", *farm.truth.ends(next(self._numbers)), "--workload", WORKLOAD)

    def kill(self, client: Client) -> None:
        """End one of the commands; what it asked for goes on."""
        self._killed.add(client.process.pid)
        client.process.kill()
        client.process.wait()

    def stop(self) -> None:
        """End all commands."""
        for client in self.clients:
            client.process.send_signal(signal.SIGKILL)
            client.process.wait()
        self._clients.clear()

    def collect(self) -> None:
        """Note how those that nobody killed ended."""
        for client in [one for one in self._clients if one.process.poll() is not None]:
            self._clients.remove(client)
            if client.process.pid not in self._killed:
                self.ended.append((client, client.process.returncode))

    def _ask(self, command: str, *arguments: str) -> None:
        farm = self._farm
        login = {
            "BENCH_FARM": farm.url,
            "BENCH_USER": USER,
            "BENCH_PASSWORD_FILE": str(farm.local.plan.password_file),
            "XDG_CONFIG_HOME": str(farm.home / "config"),
        }
        said = farm.home / f"client-{next(self._ordinals)}.txt"
        words = (f"buildbot_bench.cli.{command}", *arguments)
        with said.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                env=os.environ | login,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._clients.append(Client(command=words, process=process, said=said))
