"""A farm with two masters on PostgreSQL, whose processes are killed and restarted."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from buildbot_bench.demo.farm import LocalFarm
from buildbot_bench.demo.watching import Child, answers
from tests.asking import ASKED
from tests.chaos import stacks
from tests.crossbar_router import Router
from tests.e2e.replay_farm import API, DEADLINE_S, History, ReplayFarm, Row, Shape, T
from tests.ports import free_port

BROKER = """\
SELECT masterid FROM bench_lease
WHERE name = 'broker' AND expires_at > extract(epoch FROM clock_timestamp())"""
TAKEOVER_S = 60.0
# Of the masters that are killed: those that start again when the other has their work.
STAYS_AWAY = 1 / 5
_SECOND_IN_WORKFLOW = "  replay2: {worker: lab2, boot: 65s, run: 30s}\n"
_SECOND_TESTBED = """
[testbeds.replay2]
driver = "replay"
epoch = "1"
series = "{series}"
dut = "AMD_GX-412TC_4Cores"
label = "fbsd12-head.iflib"
delay_s = 0.0
"""


@dataclass(frozen=True, kw_only=True)
class Takeover:
    """What followed a kill: how long no broker ran, in seconds, where that was waited for."""

    killed: str
    was_broker: bool
    seconds: float | None


class SeveralMasters(ReplayFarm):
    """Two masters, a router, two builder workers and two lab workers, each of a testbed."""

    def __init__(self, directory: Path, history: History, shape: Shape) -> None:
        super().__init__(directory, history, shape)
        self.router = Router(directory)
        first = replace(
            self.local.plan,
            labs=("lab", "lab2"),
            builders=("builder", "builder2"),
            router=self.router.url,
        )
        second = replace(first, master="master2", www_port=free_port(), pb_port=free_port())
        ports = (first.pb_port, second.pb_port)
        self.local = LocalFarm(replace(first, pb_ports=ports))
        self.second = LocalFarm(replace(second, pb_ports=ports))
        self._let_two_testbeds_be()
        self.away: set[str] = set()

    def _let_two_testbeds_be(self) -> None:
        workflow = self.local.plan.workflow
        text = workflow.read_text()
        text = text.replace("runs-on: builder", "runs-on: [builder, builder2]")
        text = text.replace("  replay: {", _SECOND_IN_WORKFLOW + "  replay: {")
        workflow.write_text(text)

    def let_blasts_last(self, blast_s: float) -> None:
        super().let_blasts_last(blast_s)
        testbeds = self.local.plan.testbeds
        testbeds.write_text(testbeds.read_text() + _SECOND_TESTBED.format(series=self._series))

    @property
    def masters(self) -> dict[str, LocalFarm]:
        """The masters' farms by the names of their directories; the first has the workers."""
        return {"master": self.local, "master2": self.second}

    def start(self) -> None:
        self.router.start()
        self.local.prepare()
        home = self.directory / "master"
        other = self.directory / "master2"
        shutil.copytree(home / "secrets", other / "secrets")
        self.second.prepare()
        (home / "artefacts").mkdir()
        (other / "artefacts").symlink_to(home / "artefacts")
        for child in (*(one.master for one in self.masters.values()), *self.local.workers.values()):
            child.env |= stacks.SHOWN
        for farm in self.masters.values():
            farm.start_master()
        for worker in self.local.workers.values():
            worker.start()

    def end(self) -> None:
        for name in self.masters:
            self.wake(name)
            self.masters[name].master.kill()
        super().end()
        self.router.kill()

    def show_stacks(self) -> None:
        """Have all processes write into their logs where they are."""
        masters = (one.master for one in self.masters.values())
        stacks.ask((*masters, *self.local.workers.values()))

    def supervise(self) -> None:
        """Start what has ended, but for a master that is to stay away for a while."""
        for name, farm in self.masters.items():
            if not farm.master.running and name not in self.away:
                (farm.plan.directory / name / "twistd.pid").unlink(missing_ok=True)
                farm.master.start()
        for worker in self.local.workers.values():
            if not worker.running:
                worker.start()

    def wait(self, condition: Callable[[], T], what: str, deadline_s: float = DEADLINE_S) -> T:
        """As for any farm; what ends meanwhile is started again."""

        def supervised() -> T:
            self.supervise()
            return condition()

        return super().wait(supervised, what, deadline_s)

    def stand_still(self, name: str) -> None:
        """SIGSTOP a master: it lives and does nothing."""
        self._signal(self.masters[name].master, signal.SIGSTOP)

    def wake(self, name: str) -> None:
        """Let a master that stands still go on."""
        self._signal(self.masters[name].master, signal.SIGCONT)

    def _signal(self, child: Child, number: int) -> None:
        if child.process is not None and child.running:
            os.kill(child.process.pid, number)

    def broker(self) -> str | None:
        """The directory's name of the master that runs the broker."""
        names = {
            row["id"]: Path(row["name"].partition(":")[2]).name
            for row in self.rows("SELECT id, name FROM masters")
        }
        return names.get(self.value(BROKER))

    def wait_for_broker(self, *, other_than: str | None = None) -> str:
        """Wait for a master to run the broker; its name."""

        def other() -> str | None:
            name = self.broker()
            return None if name == other_than else name

        return self.wait(other, f"a broker other than {other_than}") or ""

    def answers(self, name: str) -> bool:
        """Whether a master's pages are there."""
        return answers(self.masters[name].plan.www_port)

    def get_of(self, name: str, path: str) -> Row:
        """What the REST interface of one master shows at bench/<path>."""
        url = f"{self.masters[name].plan.url}{API}/{path}"
        answer = httpx.get(url, **ASKED)
        answer.raise_for_status()
        return dict(answer.json())

    def begin_anywhere(self, old: str, new: str) -> int | None:
        """Start a search on the first testbed, at the master that answers; None when none does."""
        for name in self.masters:
            if self.answers(name):
                farm = {"BENCH_FARM": self.masters[name].plan.url}
                done = self.bisect(old, new, "--no-wait", "--testbed", "replay", **farm)
                return int(done.stdout) if done.returncode == 0 else None
        return None

    def reports(self, search_id: int) -> list[Row]:
        """The report of a search by each master, whose links are its own."""
        return [
            self.get_of(name, f"searches/{search_id}")["searches"][0]["report"]
            for name in self.masters
        ]

    def has_ended(self, search_id: int) -> bool:
        """Whether a search has come to an end."""
        query = "SELECT ended_at FROM bench_search WHERE id = :id"
        return self.value(query, id=search_id) is not None

    def kill_one(self, dice: random.Random) -> Takeover:
        """SIGKILL either master: as `kill_master` does, or it is started again at once."""
        name = dice.choice(sorted(self.masters))
        if dice.random() < STAYS_AWAY:
            return self.kill_master(name)
        was_broker = self.broker() == name
        self.masters[name].master.kill()
        self.supervise()
        return Takeover(killed=name, was_broker=was_broker, seconds=None)

    def kill_master(self, name: str) -> Takeover:
        """SIGKILL a master; wait for a broker elsewhere if it was that one; start it again."""
        was_broker = self.broker() == name
        began_s = time.monotonic()
        self.away = {name}
        self.masters[name].master.kill()
        if was_broker:
            self.wait_for_broker(other_than=name)
        took_s = time.monotonic() - began_s
        self.away = set()
        self.wait(lambda: self.answers(name), f"{name} to start")
        return Takeover(killed=name, was_broker=was_broker, seconds=took_s if was_broker else None)
