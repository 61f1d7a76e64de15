"""A real farm on the replay testbed, which tests kill, stop, query and read.

Master, workers, database and git are real; only the lab's answers are recorded ones. What the
farm did is read from its tables and from the lab's own files, not through the code under test.
"""

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import httpx
import sqlalchemy as sa

from buildbot_bench.demo.farm import USER, FarmPlan, LocalFarm
from buildbot_bench.demo.generated_history import publish
from buildbot_bench.lab.job import Job
from tests.asking import ASKED, pause
from tests.ports import free_port
from tests.readme import CHECKOUT
from tests.running import ran

# Long enough for a machine on which many others work; only a failing test waits for it.
DEADLINE_S = 240.0
API = "api/v2/bench"
_WORKFLOW = CHECKOUT / "buildbot_bench" / "demo" / "replay.yml"
_SERIES = CHECKOUT / "buildbot_bench" / "demo" / "data" / "series.jsonl"
_TESTBEDS = """\
[testbeds.replay]
driver = "replay"
epoch = "1"
series = "{series}"
dut = "AMD_GX-412TC_4Cores"
label = "fbsd12-head.iflib"
delay_s = {delay_s}
"""
_MAIL = """\
mail:
  from: Buildbot Bench <bench@example.org>
  to: [freebsd-net@example.org]
  smtp-host: 127.0.0.1
  smtp-port: {port}
"""
_DB_URL = "sqlite:///state.sqlite"
_TAIL_LINES = 30
_TAIL_COLUMNS = 180
_NOISE = "RunProcess._startCommand"
_HERE = "/where/the/master/lies"

T = TypeVar("T")
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class History:
    """A repository to publish from, and the hash of each of its labels, oldest first."""

    path: Path
    shas: dict[str, str]

    def publish(self, target: Path, label: str) -> None:
        """Push all up to a label."""
        publish(self.path, target, label, self.shas)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a test wants of its farm: how slow blasts and builds are, and where it keeps things.

    Its repository is looked at when it starts, and then every `poll_s`. With `transport` it lies
    behind an ssh of the test's; see tests/fakes/slow_ssh.py for what that directory may hold.
    Without `commits` nothing is measured but what a person asks for.
    """

    tip: str = "r313448"
    poll_s: float = 60.0
    blast_s: float = 0.0
    build_s: float = 0.0
    iterations: int | str = "auto"
    smtp_port: int | None = None
    captures: Path | None = None
    db_url: str | None = None
    series: Path = _SERIES
    control: str = ""
    transport: Path | None = None
    commits: bool = True
    artefacts: str = ""


class ReplayFarm:
    """One farm in a directory of its own, on ports that nobody else uses."""

    def __init__(self, directory: Path, history: History, shape: Shape) -> None:
        self.directory = directory
        self.history = history
        self.source = directory / "src"
        history.publish(self.source, shape.tip)
        self._captures = shape.captures
        self._series = shape.series
        self.local = LocalFarm(
            FarmPlan(
                directory=directory,
                workflow=_write_workflow(directory, shape, self.source),
                testbeds=directory / "testbeds.toml",
                www_port=free_port(),
                pb_port=free_port(),
                db_url=shape.db_url or _DB_URL,
                poll_s=shape.poll_s,
                reconcile_s=2.0,
            )
        )
        self.let_blasts_last(shape.blast_s)
        self.lab_state = directory / "lab" / "state"
        self._db_url = shape.db_url or f"sqlite:///{directory}/master/state.sqlite"

    @property
    def url(self) -> str:
        return self.local.plan.url

    def let_blasts_last(self, blast_s: float) -> None:
        """Say how long a blast of the jobs to come lasts; one that goes on is not touched."""
        text = _TESTBEDS.format(series=self._series, delay_s=float(blast_s))
        if self._captures is not None:
            text += f'captures = "{self._captures}"\n'
        partial = self.local.plan.testbeds.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(self.local.plan.testbeds)

    def start(self) -> None:
        plan = self.local.plan
        home = plan.directory / plan.master
        if plan.db_url == _DB_URL and not home.exists():
            _copy_master(home)
        self.local.prepare()
        self.local.start()

    def wait_for_mirror(self) -> None:
        """Wait until revisions can be named, as commands do; a request before that is refused."""
        self.wait(lambda: self.get("mirror")["views"][0]["state"] == "ready", "the mirror")

    def reread(self, told: str = "configuration update complete") -> None:
        """Let the master read its configuration anew, and wait until its log says so.

        What its pages say of the new configuration comes before that, while parts still go by
        the old one.
        """
        log, process = self.directory / "master.log", self.local.master.process
        assert process is not None
        before = log.read_text().count(told)
        process.send_signal(signal.SIGHUP)
        self.wait(lambda: log.read_text().count(told) > before, told)

    def end(self) -> None:
        """Leave no process behind, whatever state the farm is in."""
        self.local.master.kill()
        for worker in self.local.workers.values():
            worker.stop()
        for name in self.job_names():
            Job(self.lab_state, name).cancel()
        self.database.dispose()

    def kill(self, name: str) -> None:
        """SIGKILL the master or a worker."""
        self._child(name).kill()

    def terminate(self, name: str) -> None:
        """SIGTERM, as `buildbot stop` and a shutdown of the machine do."""
        self._child(name).stop()

    def resume(self, name: str) -> None:
        """Start again what was killed or stopped."""
        if name == "master":
            self.local.start_master()
        else:
            self._child(name).start()

    def rows(self, query: str, **values: object) -> list[Row]:
        """What the database answers to a query."""
        with self.database.connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(query), values).mappings()]

    def value(self, query: str, **values: object) -> Any:
        """The only value that a query gives, or None."""
        rows = self.rows(query, **values)
        return next(iter(rows[0].values())) if rows else None

    def change(self, statement: str) -> None:
        """Change a row behind the master's back."""
        with self.database.begin() as connection:
            connection.execute(sa.text(statement))

    def get(self, path: str) -> Any:
        """What the REST interface shows at bench/<path>."""
        answer = httpx.get(f"{self.url}{API}/{path}", **ASKED)
        answer.raise_for_status()
        return answer.json()

    def bisect(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run bench-bisect as the farm's user, as somebody at a shell would."""
        login = {
            "BENCH_FARM": self.url,
            "BENCH_USER": USER,
            "BENCH_PASSWORD_FILE": str(self.local.plan.password_file),
            "XDG_CONFIG_HOME": str(self.directory / "config"),
        }
        return ran(
            [sys.executable, "-m", "buildbot_bench.cli.bisect", *arguments],
            env=os.environ | login | environment,
            timeout=3 * DEADLINE_S,
        )

    def begin_search(self, old: str, new: str, *options: str) -> int:
        """Start a search and do not wait for it."""
        done = self.bisect(old, new, "--no-wait", *options)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    def wait(self, condition: Callable[[], T], what: str, deadline_s: float = DEADLINE_S) -> T:
        """The condition's first true value; fails when it does not come."""
        deadline = time.monotonic() + deadline_s
        problem = ""
        while True:
            began_s = time.monotonic()
            try:
                if value := condition():
                    return value
            except (httpx.HTTPError, sa.exc.OperationalError) as error:
                problem = f" ({error})"  # a master that starts has no tables and no pages yet
            assert time.monotonic() < deadline, f"not within {deadline_s:.0f} s: {what}{problem}"
            pause(began_s)

    def wait_for_search(self, search_id: int) -> Row:
        """Wait until a search has ended; what REST shows of it."""
        self.wait(
            lambda: self.value("SELECT ended_at FROM bench_search WHERE id = :id", id=search_id),
            f"the end of search {search_id}",
        )
        return self.wait(lambda: self.get(f"searches/{search_id}")["searches"][0], "the search")

    def job_names(self) -> list[str]:
        return [path.name for path in (self.lab_state / "jobs").glob("*") if path.is_dir()]

    def events(self, job: str) -> list[Row]:
        """What the lab wrote down of a job, in its order."""
        try:
            text = (self.lab_state / "jobs" / job / "events.jsonl").read_text()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def boots(self) -> int:
        """How often the replayed DUT was booted, by its own count."""
        counts = json.loads((self.lab_state / "testbeds" / "replay" / "boots.json").read_text())
        return sum(counts.values())

    def tails(self) -> Iterator[tuple[str, str]]:
        """The last lines of each process's log."""
        for log in sorted(self.directory.glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()
            told = [line[:_TAIL_COLUMNS] for line in lines if _NOISE not in line]
            yield log.name, "\n".join(told[-_TAIL_LINES:])

    @cached_property
    def database(self) -> sa.Engine:
        """Its tables, beside the master's own connections."""
        if self._db_url.startswith("sqlite"):
            patient = {"timeout": 60}
            return sa.create_engine(self._db_url, poolclass=sa.NullPool, connect_args=patient)
        # A server begins a process for each connection; one that it ended is replaced.
        return sa.create_engine(self._db_url, pool_size=1, pool_pre_ping=True)

    def _child(self, name: str) -> Any:
        return self.local.master if name == "master" else self.local.workers[name]


@cache
def _new_master() -> Path:
    """A master as the product makes one, before it first ran: one for all farms of a process."""
    with tempfile.TemporaryDirectory() as name:
        LocalFarm(FarmPlan(directory=Path(name), workflow=_WORKFLOW)).prepare()
        kept = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
        tac = Path(name) / "master" / "buildbot.tac"
        tac.write_text(tac.read_text().replace(str(tac.parent), _HERE))
        return shutil.copytree(
            tac.parent, kept / "master", ignore=shutil.ignore_patterns("secrets")
        )


def _copy_master(home: Path) -> None:
    """To make one anew for each farm takes seconds."""
    shutil.copytree(_new_master(), home)
    tac = home / "buildbot.tac"
    tac.write_text(tac.read_text().replace(_HERE, str(home)))


def _write_workflow(directory: Path, shape: Shape, source: Path) -> Path:
    """The workflow of `make farm`, with what this farm has of its own."""
    text = re.sub(r"iterations: \w+", f"iterations: {shape.iterations}", _WORKFLOW.read_text())
    text = text.replace("run: echo", f"run: sleep {shape.build_s}; echo")
    text = text.replace("branches: [main, 'stable/*']", "branches: [main]")
    if shape.captures is not None:
        text = text.replace("boot: 65s,", "boot: 65s, profile: 5m,")
    if shape.control:
        text = text.replace("boot: 65s,", f"boot: 65s, control: {shape.control},")
    if not shape.commits:
        text = text.replace("  push:\n    branches: [main]\n", "")
    if shape.transport is not None:
        text = text.replace("repository: src", f"repository: ssh://example.org{source}")
    if shape.artefacts:
        text += f"\nartefacts: {shape.artefacts}\n"
    if shape.smtp_port is not None:
        text += _MAIL.format(port=shape.smtp_port)
    path = directory / "bench.yml"
    path.write_text(text)
    return path


def processes_in(directory: Path) -> list[int]:
    """The processes that work in a directory; none where the system does not tell."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").resolve().is_relative_to(directory):
                found.append(int(process.name))
    return found


def end_processes_in(directory: Path) -> list[int]:
    """Kill what still works in a directory; returns what was found there."""
    found = processes_in(directory)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found
