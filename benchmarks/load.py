"""The cost of a broker's cycle on a farm of many labs, in processor time and memory.

`make load`, or `python -m benchmarks load`, fills the tables of 50 testbeds, 20 workloads and five
branches, one of them of a second repository: 1000 commits on 100 series with 10 open searches, and
ten times as much of each. On both it runs cycles of the broker: one that meets nothing new, one a
boot that ended, one a commit that came, and those that judge a run of a thousand named values. The
tables are SQLite's, asked through Buildbot's own pool as a farm sets it; the master is a stand-in.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa
from buildbot.db import enginestrategy
from buildbot.db.model import Model
from buildbot.db.pool import DBThreadPool
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall, deferLater, react

from benchmarks.many_labs import Size, make_repositories, workflow
from benchmarks.many_rows import VALUES, fill
from benchmarks.progress import keep
from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import pack, unpack
from buildbot_bench.plugin.broker.judging import unjudged
from buildbot_bench.plugin.broker.scheduler import RECONCILE_S, Cycle
from buildbot_bench.plugin.configurator import BenchConfigurator
from buildbot_bench.plugin.db.columns import JudgementState
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.schema import ITERATION
from buildbot_bench.plugin.db.schema import VALUES as NAMED
from buildbot_bench.plugin.db.sql import take_write_lock, upgrade
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.plugin.pages.histories import Histories
from buildbot_bench.workflow.load import load
from tests.fakes.master import FakeMaster, Request

SIZES = (
    Size(commits=1000, searches=10, ended=100),
    Size(commits=10_000, searches=100, ended=1000),
)
GOALS = {
    "idle_ms": 100.0,
    "after_1000_values_ms": 150.0,
    "longest_ms": 150.0,
    "memory_mib": 400.0,
}
IDLE_CYCLES = 7
# With named values: in some of them a value is suspected by chance, and boots are asked for.
RUNS = 7
# The plan of a search takes less, but on a busy machine.
PLAN_S = 3.0
MOST_PLANNING = 20
BEAT_S = 0.01

Figures = dict[str, float]


def main(argv: list[str] | None = None) -> int:
    """Print a table; 1 when a goal is missed at the larger size."""
    if argv:
        searches = int(argv[2])
        _run(Path(argv[0]), Size(commits=int(argv[1]), searches=searches, ended=10 * searches))
        return 0
    found = [_apart(size) for size in SIZES]
    keep("load", found)
    print(f"{'':24}" + "".join(f"{size.commits:>9} commits" for size in SIZES) + "     goal")
    for name in found[0]:
        values = "".join(f"{figures[name]:>17.0f}" for figures in found)
        print(f"{name:24}{values}{GOALS.get(name, 0) or '':>9}")
    return int(any(found[-1][name] > goal for name, goal in GOALS.items()))


def _apart(size: Size) -> Figures:
    """In a process of its own, whose memory is its own."""
    with tempfile.TemporaryDirectory(prefix="bench-load-") as home:
        numbers = (str(size.commits), str(size.searches))
        command = [sys.executable, "-m", "benchmarks.load", home, *numbers]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
    figures: Figures = json.loads(text.splitlines()[-1])
    return figures


def _run(home: Path, size: Size) -> None:
    if not (home / "state.sqlite").exists():
        _make(home, size)
    react(lambda _reactor: Deferred.fromCoroutine(_tell(home)))


async def _tell(home: Path) -> None:
    print(json.dumps(await _measure(home)))


def _make(home: Path, size: Size) -> None:
    make_repositories(home, size)
    (home / "bench.yml").write_text(workflow(home, size))
    with _engine(home).begin() as connection:
        take_write_lock(connection)
        upgrade(connection)
        Model.metadata.create_all(connection)
        builders = [{"name": f"bench/{name}", "name_hash": name} for name in size.testbeds]
        connection.execute(sa.insert(Model.builders), builders)
        fill(connection, home, size)


def _engine(home: Path) -> sa.Engine:
    """Buildbot's, which keeps its connection: the configurator of a farm has it do so."""
    config: dict[str, Any] = {"db": {"db_url": f"sqlite:///{home}/state.sqlite"}}
    BenchConfigurator(load(home / "bench.yml"), secrets=home / "secrets").configure(config)
    engine: sa.Engine = enginestrategy.create_engine(
        config["db"]["db_url"], basedir=str(home), **config["db"]["engine_kwargs"]
    )
    return engine


class CountingPool(DBThreadPool):
    """Buildbot's pool of threads; `queries` counts what it was asked."""

    queries = 0

    def do(self, *asked: Any, **named: Any) -> Deferred[Any]:
        """Count a query, and ask it in a thread."""
        self.queries += 1
        return super().do(*asked, **named)


async def _measure(home: Path) -> Figures:
    pool = CountingPool(_engine(home), reactor)
    pool.start()
    try:
        return await _cycles(farm_in(home, home / "bench.yml", pool), pool)
    finally:
        await pool.stop()


async def _cycles(farm: Farm, pool: CountingPool) -> Figures:
    await farm.mirroring.refresh()
    cycle = Cycle(farm=farm, scheduler=farm.master)

    async def timed() -> float:
        farm.master.reactor.advance(RECONCILE_S)
        began_s = time.process_time()
        await cycle.run()
        return 1000 * (time.process_time() - began_s)

    first = await timed()
    await _settle(farm, timed)
    longest = _longest_stretch()
    asked = pool.queries
    idle = [await timed() for _ in range(IDLE_CYCLES)]
    queries = (pool.queries - asked) / IDLE_CYCLES
    await _end_a_boot(farm)
    after_boot = await timed()
    await _push(farm)
    after_commit = await timed()
    await _settle(farm, timed)
    calm: list[float] = []
    doubtful: list[float] = []
    for nth in range(RUNS):
        await _judge_values(farm, before=2 * nth)
        suspected = await _suspected(farm)
        took = await timed()
        (calm if await _suspected(farm) == suspected else doubtful).append(took)
    await _judge_values(farm, before=1, slower=1.1)
    calculated = sum(map(_seconds, _calculators()))
    after_changed = await timed()
    calculated = sum(map(_seconds, _calculators())) - calculated
    if await _suspected(farm) < VALUES:
        raise RuntimeError("the named values were not judged")
    return {
        "first_ms": first,
        "idle_ms": median(idle),
        "idle_queries": queries,
        "after_a_boot_ms": after_boot,
        "after_a_commit_ms": after_commit,
        "after_1000_values_ms": median(calm),
        "after_a_doubt_ms": max(doubtful, default=0.0),
        "after_1000_changed_ms": after_changed,
        "calculated_ms": 1000 * calculated,
        "longest_ms": max(longest),
        "memory_mib": (_most_kib(os.getpid()) + sum(map(_most_kib, _calculators()))) / 1024,
    }


async def _suspected(farm: Farm) -> int:
    """How many series and named values are suspected."""
    return len(await farm.store.judgements(JudgementState.SUSPICION))


async def _settle(farm: Farm, cycle: Callable[[], Awaitable[float]]) -> None:
    """Run cycles until no plan wakes the broker any more, and some at most."""
    woken: list[Any] = farm.master.produced
    for _ in range(MOST_PLANNING):
        woken.clear()
        await cycle()
        await deferLater(reactor, PLAN_S)
        if not woken:
            return


def _longest_stretch() -> list[float]:
    """The milliseconds of the processor that the reactor's thread takes from beat to beat."""
    took, last = [0.0], [time.thread_time()]

    def beat() -> None:
        now = time.thread_time()
        took.append(1000 * (now - last[0]))
        last[0] = now

    LoopingCall(beat).start(BEAT_S)
    return took


def _seconds(pid: int) -> float:
    """The processor's time that a process has had."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _most_kib(pid: int) -> int:
    """The most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE)[1])  # type: ignore[index]


def _calculators() -> Iterator[int]:
    """The processes that calculate for this one."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")
            if int(rest.split()[1]) == os.getpid():
                yield int(name.split()[0])


def farm_in(home: Path, file: Path, pool: CountingPool) -> Farm:
    """A farm on tables that are there; Buildbot's master is a stand-in."""
    master: Any = FakeMaster(basedir=home, pool=pool)
    with pool.engine.connect() as connection:
        for number in connection.execute(sa.select(Model.buildrequests.c.id)).scalars():
            request = Request(
                brid=number,
                name=str(number),
                builder="",
                revision="",
                reason="",
                priority=20,
                properties={},
            )
            master.requests.append(request)
    farm = Farm(workflow=load(file), master=master)
    service = SimpleNamespace(farm=farm, histories=Histories())
    master.service_manager.namedServices[SERVICE_NAME] = service
    return farm


async def _end_a_boot(farm: Farm) -> None:
    """A search gets what it waited for."""
    probe = (await farm.store.probes(state=ProbeState.ISSUED))[0]
    now = farm.now()
    await farm.store.add_iteration(
        probe=probe, ordinal=0, unit="pps", value=1e6, failure=None, at_s=now, duration_s=30.0
    )
    await farm.store.change(probe, state=ProbeState.DONE, ended_at=now)


async def _judge_values(farm: Farm, *, before: int = 0, slower: float = 1.0) -> None:
    """A boot with a thousand named values is to be judged, the newest or one `before` it.

    What stands for its values was judged.
    """
    series = all_series(farm.workflow.bench_jobs)[0]
    tip = (await farm.store.newest_commits(["main"]))["main"]
    image = await farm.store.image_at("main", tip.position - 1 - before)
    if image is None:
        raise InfraError("a boot that was stored has no image")
    blank = await unjudged(farm, image, "main", image.position - 1, series=series.name, unit="pps")
    row = await farm.store.ensure_judgement(blank, now=farm.now())
    await farm.store.change(row, rounds=1, state=JudgementState.NOTHING)
    probe = (await farm.store.probes_of([image.id], series.name))[0]

    def change(connection: sa.Connection) -> None:
        boot = sa.select(ITERATION.c.id).where(ITERATION.c.probe_id == probe.id)
        its = NAMED.c.iteration_id.in_(boot)
        (body,) = connection.execute(sa.select(NAMED.c.body).where(its)).scalars()
        values = pack([value * slower for value in unpack(body)])
        connection.execute(sa.update(NAMED).where(its).values(body=values))

    await farm.store.write(change)
    await farm.store.change(probe, judged=False)


async def _push(farm: Farm) -> None:
    """A commit comes to main: all series want it measured."""
    tip = (await farm.store.newest_commits(["main"]))["main"]
    position = tip.position + 1
    new = NewCommit(sha=f"{position:040x}", position=position, subject="A change", author="A")
    await farm.store.add_commits("main", [new])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
