"""Branches and series that a farm measures, the removed ones, and which branch a row is of.

The tables outlive every bench.yml, so names of testbeds and workloads that come from tables are
looked up here. A search stands on one machine from its first boot to its last: two machines of one
kind differ by more than the effect that a search looks for.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from buildbot_bench.core.revision import MOST_BRANCHES, branch_in, name_in_repository, repository_of
from buildbot_bench.plugin.db.columns import OPEN_SEARCHES
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.workflow.jobs import BenchJob
from buildbot_bench.workflow.model import DeclaredTestbed

UNWATCHED = ""
"""The branch, within its repository, of a commit that no watched branch leads to."""


async def known_branches(farm: Farm) -> tuple[str, ...]:
    """All branches that were ever watched, those that are watched now first, in their order."""
    watched = await watched_branches(farm)
    seen = [row.name for row in await farm.store.branches()]
    return (*watched, *(name for name in seen if name not in watched))


async def watched_branches(farm: Farm) -> tuple[str, ...]:
    """The branches that were seen and are watched, repository by repository.

    Of a repository of which none was seen yet, those that bench.yml names.
    """
    seen = [row.name for row in await farm.store.branches()]
    return tuple(
        branch
        for one in farm.workflow.watches
        for branch in one.taken(seen)[:MOST_BRANCHES] or one.named
    )


async def first_branch(farm: Farm, repository: str = "") -> str:
    """The branch of a repository that is meant where none is named: the first watched one."""
    watched = await watched_branches(farm)
    own = (branch for branch in watched if repository_of(branch) == repository)
    return next(own, branch_in(repository, UNWATCHED))


async def branch_to_name(farm: Farm, branch: str) -> str:
    """What readers see of a branch: its name, or, where it is the only one, nothing."""
    return branch if len(await watched_branches(farm)) > 1 else ""


async def branch_of_commit(farm: Farm, sha: str, repository: str = "") -> str:
    """The branch of a repository that has a commit; of several the one that was watched first."""
    came: str | None = await farm.store.branch_of(sha, repository)
    if came is not None:
        return came
    carriers = await farm.git(farm.history.carriers, sha, repository)
    seen = [row.name for row in await farm.store.branches() if row.name in carriers]
    return next(iter((*seen, *carriers)), branch_in(repository, UNWATCHED))


def is_watched(branch: str | None) -> bool:
    """Whether it is the name of a branch, and not that of those without one."""
    return bool(branch) and name_in_repository(str(branch)) != UNWATCHED


async def branch_of_image(farm: Farm, image: ImageRow) -> str:
    """The branch on which what an image measures is judged."""
    if image.branch and is_watched(image.branch):
        return image.branch
    came: str | None = await farm.store.branch_of(image.sha, image.repository)
    return came or await first_branch(farm, image.repository)


async def branch_of_judgement(farm: Farm, row: JudgementRow) -> str:
    """The branch on which a judgement was made."""
    if row.branch and is_watched(row.branch):
        return row.branch
    came: str | None = await farm.store.branch_of(row.new_sha, row.repository)
    return came or await first_branch(farm, row.repository)


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One workload on one testbed: what is measured side by side with nothing else.

    Two machines of one kind are two testbeds: their levels differ, so no history mixes them. A
    workload that a label is to measure is at home on one of the `pool`; a search of it may run on
    any of them, and measures all that it compares there. `runs_on` is what bench.yml says.
    `iterations` is None for `auto`: as many as the noise that is known there asks for. `gates` are
    the testbeds that measure the workload before it is measured here; see core.gate.
    `repositories` are those whose kernels are measured, by what their branches have in front.
    """

    testbed: str
    workload: str
    iterations: int | None
    runs_on: str = ""
    pool: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ("",)

    @property
    def name(self) -> tuple[str, str]:
        """The testbed and the workload: what the tables know the series by."""
        return self.testbed, self.workload

    def measures(self, branch: str) -> bool:
        """Whether the kernels of a branch's repository are measured."""
        return repository_of(branch) in self.repositories


def all_series(jobs: tuple[BenchJob, ...]) -> tuple[Series, ...]:
    """Every (testbed, workload) that the workflow's jobs measure.

    The workloads of a job are dealt to the testbeds of a pool in turn.
    """
    alone = {job.name: _series_of_job(job) for job in jobs}
    return tuple(
        replace(series, gates=_gates(series, (alone[name] for name in job.needs if name in alone)))
        for job in jobs
        for series in alone[job.name]
    )


def _gates(series: Series, needed: Iterable[tuple[Series, ...]]) -> tuple[str, ...]:
    found = (gate.testbed for gates in needed for gate in gates if gate.workload == series.workload)
    return tuple(dict.fromkeys(found))


def _series_of_job(job: BenchJob) -> tuple[Series, ...]:
    """Those of one job; what its matrix leaves out on one testbed moves nothing of the others."""
    order = dict.fromkeys((*job.strategy.matrix.workload, *job.workloads))
    number = {workload: place for place, workload in enumerate(order)}
    return tuple(
        Series(
            testbed=job.pool(cell.runs_on)[number[cell.workload] % len(job.pool(cell.runs_on))],
            workload=cell.workload,
            iterations=None if cell.iterations == "auto" else cell.iterations,
            runs_on=cell.runs_on,
            pool=job.pool(cell.runs_on),
            repositories=job.repositories,
        )
        for cell in job.cells
    )


def removal_reason(farm: Farm, testbed: str, workload: str, repository: str = "") -> str:
    """Why a workload cannot be measured on a testbed any more, as a clause; empty when it can.

    `repository` is the one whose kernels it is measured with; the first one is always there.
    """
    if why := repository_removal_reason(farm, repository):
        return why
    if testbed not in farm.workflow.testbeds:
        return f"testbed {testbed} is no longer in bench.yml"
    if workload not in farm.workflow.workloads_on(testbed):
        return f"testbed {testbed} no longer measures {workload}: no job of bench.yml asks for it"
    return ""


def repository_removal_reason(farm: Farm, repository: str) -> str:
    """Why nothing of a repository can be built any more, as a clause; empty when it can."""
    if farm.workflow.watch(repository) is not None:
        return ""
    return f"repository {repository} is no longer in bench.yml"


def removal_reasons(farm: Farm, all_series: Iterable[Sequence[str]]) -> list[str]:
    """Of each testbed and workload why it cannot be measured any more; empty where it can."""
    return [removal_reason(farm, testbed, workload) for testbed, workload in all_series]


def in_one_line(reasons: Iterable[str]) -> str:
    """Reasons as a page shows them, each once; empty when there are none."""
    return "; ".join(dict.fromkeys(filter(None, reasons)))


def captures_removal_reason(farm: Farm, testbed: str, workload: str, repository: str = "") -> str:
    """Why no capture of a workload can be taken on a testbed any more; empty when it can."""
    why = removal_reason(farm, testbed, workload, repository)
    if why or testbed_of(farm, testbed).profile_s is not None:
        return why
    return f"testbed {testbed} no longer takes captures: it has no `profile` in bench.yml"


async def removed_series(farm: Farm) -> list[tuple[str, str]]:
    """The testbeds and workloads that were measured and cannot be any more."""
    return [
        series for series in await farm.store.measured_series() if removal_reason(farm, *series)
    ]


def testbed_of(farm: Farm, testbed: str) -> DeclaredTestbed:
    """What bench.yml says of a testbed; of one that it no longer has, what it says of any."""
    return farm.workflow.testbeds.get(testbed, DeclaredTestbed())


def series_at(farm: Farm, testbed: str, workload: str) -> Series:
    """The series whose home or pool a testbed is; one of its own when bench.yml forgot it."""
    known = [
        series for series in all_series(farm.workflow.bench_jobs) if series.workload == workload
    ]
    at_home = [series for series in known if series.testbed == testbed]
    around = [series for series in known if testbed in series.pool]
    alone = Series(testbed=testbed, workload=workload, iterations=None, pool=(testbed,))
    return next(iter((*at_home, *around)), alone)


async def least_loaded(farm: Farm, series: Series) -> str:
    """The testbed of a series' pool with the fewest searches; its home, which has a history, first.

    One in quarantine comes last: nothing would be measured there until that ends.
    """
    return (await by_load(farm, (series.testbed, *series.pool)))[0]


async def by_load(farm: Farm, testbeds: Iterable[str]) -> list[str]:
    """Some testbeds, those with the fewest searches first, and those in quarantine last."""
    held = await held_testbeds(farm)
    running = await farm.store.searches(states=OPEN_SEARCHES)
    load = Counter(search.testbed for search in running)
    return sorted(testbeds, key=lambda name: (name in held, load[name]))


async def held_testbeds(farm: Farm) -> frozenset[str]:
    """The testbeds in quarantine."""
    return frozenset(one.testbed for one in await farm.store.quarantines(open_only=True))
