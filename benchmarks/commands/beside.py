"""What a run of --local costs beside its command: to unpack, start and store it, and to plan on."""

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.lab.driver import Blast
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.bisecting import Bisection, SearchCourse
from buildbot_bench.local.builds import Workshop, opened
from buildbot_bench.local.campaign import Campaign, CommandMeasurer, LocalSearch
from buildbot_bench.local.recipe import BuildRecipe
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git

MOST_S = 0.03
"""What a run may cost beside its command on a machine that does nothing else."""
COMMITS, RUNS, SLEEP_S = 8, 40, 0.06


class _EnoughError(InfraError):
    """So many runs as are wanted."""


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Medians of what a run takes, in seconds: in all, and of it what measures and what plans.

    `cpu_s` is the processor time of that which we spend ourselves: other work on the machine
    lengthens all else.
    """

    runs: int
    whole_s: float
    measuring_s: float
    planning_s: float
    cpu_s: float
    load: float


class _Silent:
    def show(self, course: SearchCourse) -> None:
        """As the port says."""

    def notice(self, message: str) -> None:
        """As the port says."""


class _Stopwatch:
    """Runs the command, and notes when it was asked to and what the command itself took."""

    def __init__(self, inner: CommandMeasurer) -> None:
        self._inner = inner
        self.asked_s: list[float] = []
        self.cpu_s: list[float] = []
        self.told_s: list[float] = []
        self.command_s: list[float] = []

    def measure(self, directory: Path, tell: Callable[[str], None], executions: int = 0) -> Blast:
        """As the port says.

        Raises:
            _EnoughError: There were as many as are wanted.
        """
        self.asked_s.append(time.perf_counter())
        self.cpu_s.append(_cpu_s())
        if len(self.asked_s) > RUNS:
            raise _EnoughError("enough")
        blast = self._inner.measure(directory, tell, executions)
        self.told_s.append(time.perf_counter())
        self.command_s.append(blast.times.wall_s if blast.times else 0.0)
        return blast


def measure_beside() -> Beside:
    """Search a small history by a command that sleeps, and leave out builds and the forecast."""
    with tempfile.TemporaryDirectory(prefix="bench-beside-") as name:
        home = Path(name)
        _make_history(home)
        git = Git.around(home)
        workload = CommandWorkload(run=f"sleep {SLEEP_S}")
        search = LocalSearch(
            campaign=Campaign(recipe=BuildRecipe(), workload=workload, name="sleep"),
            between=Revisions(git=git).between(f"HEAD~{COMMITS}", "HEAD"),
            terms=SearchPolicy(error=0.01, min_effect=0.001),
        )
        stopwatch = _Stopwatch(CommandMeasurer(workload, search.terms.min_effect))
        with opened(git, most_bytes=1 << 30) as repository:
            workshop = Workshop(git, repository.room, repository.store, search.campaign.recipe)
            for revision in search.between.revisions:
                repository.store.put_image(
                    workshop.build(revision, 0, beside=False), now=time.time()
                )
            bench = Bench(search.campaign, repository.store, workshop, stopwatch)
            try:
                with suppress(InfraError):
                    Bisection(search, bench, _Silent()).run()
            finally:
                bench.end()
    asked, told = stopwatch.asked_s, stopwatch.told_s
    ran = stopwatch.command_s
    measuring = [after - before - own for before, after, own in zip(asked, told, ran, strict=False)]
    between = [later - before for before, later in zip(told, asked[1:], strict=False)]
    whole = [one + other for one, other in zip(measuring, between, strict=False)]
    return Beside(
        runs=len(whole),
        whole_s=median(whole),
        measuring_s=median(measuring),
        planning_s=median(between),
        cpu_s=median(after - before for before, after in pairwise(stopwatch.cpu_s)),
        load=os.getloadavg()[0],
    )


def show_beside(found: Beside) -> None:
    """The row, and whether it is what is wanted."""
    kept = "reached" if found.whole_s <= MOST_S else "MISSED"
    if found.cpu_s <= MOST_S < found.whole_s:
        kept = "missed, but for the other work on the machine reached"
    print(
        f"A run costs {1000 * found.whole_s:.0f} ms beside its command (median of {found.runs}; "
        f"load average {found.load:.1f}):\n  {1000 * found.measuring_s:.0f} ms to start it, "
        f"{1000 * found.planning_s:.0f} ms to store it, plan the next one and unpack that;\n"
        f"  {1000 * found.cpu_s:.0f} ms of it are processor time of ours\n"
        f"  wanted: ≤ {1000 * MOST_S:.0f} ms: {kept}"
    )


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _make_history(home: Path) -> None:
    def git(*words: str) -> None:
        own = ["git", "-C", str(home), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        subprocess.run([*own, *words], check=True, capture_output=True)  # noqa: S603 - our own

    git("init", "--quiet")
    for number in range(COMMITS + 1):
        (home / "number").write_text(f"{number}\n", encoding="utf-8")
        git("add", "number")
        git("commit", "--quiet", f"--message=Change {number}")
