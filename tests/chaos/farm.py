"""A farm at work under faults: its processes, disk, network and servers.

It keeps its processes running, as a system's supervisor does.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.errors import BenchError
from buildbot_bench.demo.generated_history import git
from buildbot_bench.demo.on_disk import FarmPlace, lab_states, processes
from buildbot_bench.demo.watching import Child, answers
from tests.chaos import stacks
from tests.chaos.clock import WallClock
from tests.chaos.disk import FarmDisk
from tests.chaos.packet_loss import PacketLoss
from tests.chaos.post import Post
from tests.chaos.refusals import Refusals
from tests.chaos.relay import Relay
from tests.chaos.truth import FIRST, LEVEL, RANGE, WORKLOAD, Truth
from tests.databases import closed_database, postgresql_server
from tests.e2e.checks import place_of
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.fakes.slow_ssh import git_environment

# Of what is pushed later, so that commits are judged as well as asked for.
_PUSHED_LATER = 20
_BLAST_S, _BUILD_S = 0.4, 0.2
_QUIET_S = 300.0
_GONE_S = 30.0
# What ends by itself, of a full disk or a bad bench.yml, would cost seconds at each look.
_BETWEEN_STARTS_S = 5.0


class ChaosFarm(ReplayFarm):
    """A master, a builder worker and a lab worker; the workers reach the master by a relay."""

    def __init__(self, home: Path, truth: Truth, disk: FarmDisk, db_url: str | None) -> None:
        self.home = home
        self.truth = truth
        self.disk = disk
        self.post = Post()
        self.transport = home / "transport"
        self.transport.mkdir()
        self.clock = WallClock(home)
        self._idle: set[str] = set()
        self._next_start_s: dict[str, float] = {}
        self._locking: sa.Connection | None = None
        self._refusals = Refusals(self)
        self._pushed = len(truth.steps) - _PUSHED_LATER
        directory = disk.root / "farm"
        directory.mkdir()
        _put_repository_outside(home / "upstream", directory / "src")
        shape = Shape(
            tip=self._tip(),
            poll_s=20.0,
            blast_s=_BLAST_S,
            build_s=_BUILD_S,
            iterations=3,
            smtp_port=self.post.port,
            db_url=db_url,
            series=truth.series,
            transport=self.transport,
        )
        super().__init__(directory, truth.history, shape)
        self.relay = Relay(self.local.plan.pb_port)
        self.loss = PacketLoss(self.relay.port)
        workflow = self.local.plan.workflow
        self._whole = workflow.read_text().replace(f"[{WORKLOAD}]", f"[{WORKLOAD}, {LEVEL}]")
        self._wanted = self._whole
        workflow.write_text(self._whole)
        self._surround()

    @property
    def children(self) -> dict[str, Child]:
        """The master and the workers."""
        return {"master": self.local.master, **self.local.workers}

    @property
    def place(self) -> FarmPlace:
        """Where the commands that operate a farm find it."""
        return place_of(self)

    def start(self) -> None:
        self.relay.start()
        self.post.start()
        super().start()
        os.sync()

    def end(self) -> None:
        """Leave no process and no server behind."""
        self.kill_all()
        self.database.dispose()
        if not self.loss.lacks:
            self.loss.stop()
        self.relay.stop()
        self.post.stop()

    def supervise(self) -> None:
        """Start again what ended; what cannot start now is started at the next look."""
        self._write_what_is_wanted()
        self._refusals.settle()
        for name, child in self.children.items():
            if child.running or time.monotonic() < self._next_start_s.get(name, 0.0):
                continue
            self._next_start_s[name] = time.monotonic() + _BETWEEN_STARTS_S
            if name == "master":
                (self.directory / "master" / "twistd.pid").unlink(missing_ok=True)
            with suppress(BenchError, OSError):
                child.start()

    def answers(self) -> bool:
        """Whether the master has started wholly."""
        return self.local.master.running and answers(self.local.plan.www_port)

    def kill(self, name: str) -> None:
        self._idle.add(name)
        self._next_start_s.pop(name, None)
        super().kill(name)

    def has_worked(self, name: str) -> bool:
        """Whether anything was built or booted since the master or a worker was last killed."""
        return name not in self._idle

    def note_work(self) -> None:
        """Something was built or booted."""
        self._idle.clear()

    def quiet(self) -> None:
        """Supervise until all run and the master answers; TimeoutError when that does not come."""
        deadline_s = time.monotonic() + _QUIET_S
        while not (self.answers() and all(child.running for child in self.children.values())):
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the farm does not start within {_QUIET_S:.0f} s")
            self.supervise()
            time.sleep(0.5)

    def kill_all(self) -> int:
        """SIGKILL all that runs for it; how many processes that were."""
        self.unlock_database()
        self._refusals.end()
        number = 0
        deadline_s = time.monotonic() + _GONE_S
        while found := processes(self.directory, lab_states(self.directory)):
            for process in found:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                    number += 1
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{found[0].command} cannot be ended")
            time.sleep(0.02)
        for name in self.children:
            self.kill(name)
        return number

    def push(self) -> None:
        """Publish the commits of one range more, as long as there are some."""
        if self._pushed < len(self.truth.steps):
            self._pushed += 1
            self.history.publish(self.home / "upstream", self._tip())

    def write_workflow(self, *replaced: tuple[str, str]) -> None:
        """Have bench.yml be the farm's own, with some words replaced; the master is told."""
        text = self._whole
        for old, new in replaced:
            assert old in text, old
            text = text.replace(old, new)
        self._wanted = text
        self._write_what_is_wanted()

    def _write_what_is_wanted(self) -> None:
        """Write bench.yml unless it is so; on a full disk, and after a power cut, once more."""
        workflow = self.local.plan.workflow
        partial = workflow.with_suffix(".partial")
        try:
            if workflow.read_text(errors="replace") == self._wanted:
                return
            partial.write_text(self._wanted)
            partial.replace(workflow)
        except OSError:
            return
        master = self.local.master
        if self.answers() and master.process is not None:
            master.process.send_signal(signal.SIGHUP)

    def lock_database(self) -> None:
        """Let nobody else write to the tables of probes and boots, as another program may."""
        connection = self.database.connect()
        try:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN EXCLUSIVE")
            else:
                tables = "bench_probe, bench_iteration"
                connection.execute(sa.text(f"LOCK TABLE {tables} IN EXCLUSIVE MODE"))
        except sa.exc.DBAPIError:
            connection.close()
            raise
        self._locking = connection

    def unlock_database(self) -> None:
        """Let them write again; the other program may have ended before."""
        if self._locking is not None:
            self._locking.close()
            self._locking = None

    def refuse(self, event: str) -> None:
        """Have the database refuse each statement of a kind, as in `INSERT ON builds`."""
        self._refusals.begin(event)

    def refuse_no_more(self) -> None:
        """Have it take all statements again, now or as soon as it can be told."""
        self._refusals.end()

    def close_database(self) -> Callable[[], None]:
        """Let nobody into the database, and all who are in it out; what lets them in again."""
        closed = ExitStack()
        closed.enter_context(closed_database(postgresql_server(), self._db_url))
        return closed.close

    def _tip(self) -> str:
        return f"r{FIRST + RANGE * self._pushed}"

    def _surround(self) -> None:
        """Give the processes this farm's git server, network and clock."""
        surroundings = git_environment(self.transport) | self.clock.environment | stacks.SHOWN
        for child in self.children.values():
            child.env |= surroundings
        for worker in self.local.workers.values():
            worker.env["BENCH_MASTER"] = f"127.0.0.1:{self.relay.port}"


def _put_repository_outside(upstream: Path, link: Path) -> None:
    """The git server is another machine: no disk and no power of the farm's is its own."""
    git(upstream.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(upstream))
    link.symlink_to(upstream)
