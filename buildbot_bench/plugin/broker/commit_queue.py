"""Requests for the boots of new commits, as far as gates let them through, newest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.evidence import comparable_samples
from buildbot_bench.core.gate import Gate, Ruling, figures_of, first_let_through, rulings
from buildbot_bench.core.model.learn import auto_iterations, learn
from buildbot_bench.plugin.broker.ask import ask_boots, ask_image, target_of
from buildbot_bench.plugin.broker.commit_watch import NoOpCommits
from buildbot_bench.plugin.db.columns import OPEN_PROBES, OPEN_SEARCHES, ProbeReason
from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import AskedRow, CommitRow, SeriesName
from buildbot_bench.plugin.db.schema import BranchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import Series, all_series, held_testbeds, watched_branches
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS

_SETTLED = frozenset({ProbeState.DONE, ProbeState.LOST})


# What gave nothing stays as it is: asking again takes a key of its own.
UNMEASURED_STATES = frozenset({ProbeState.LOST, ProbeState.CANCELLED})
# A commit that was lost to machines that failed is asked for again when they may have been fixed.
ASK_AGAIN_AFTER_S = 3600.0


class CommitQueue:
    """Keeps one commit under measurement in each series, and a second only when the lab is idle."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._no_ops = NoOpCommits(farm)
        self._asked = _AskedFor(farm)

    async def advance(self) -> None:
        """Ask for the newest commit of each series that has none, else for an old one if idle."""
        open_probes = await self._farm.store.open_probes()
        busy_testbeds = {probe.testbed for probe in open_probes}
        searched = {
            search.testbed for search in await self._farm.store.searches(states=OPEN_SEARCHES)
        }
        measured = {p.series for p in open_probes if p.reason in OF_COMMITS}
        is_on = self._farm.workflow.on.push is not None
        tips = await self._farm.store.newest_commits(
            await watched_branches(self._farm) if is_on else ()
        )
        await self._asked.look(tips, lost_before=self._lost_before)
        if await self._no_ops.look(tips):
            self._asked.taken_back()
        spans = {branch: (await self._first(branch), tip.position) for branch, tip in tips.items()}
        for series in all_series(self._farm.workflow.bench_jobs):
            if series.name not in measured:
                idle = series.testbed not in busy_testbeds | searched
                await self._request_series(series, spans, idle=idle)

    @property
    def _lost_before(self) -> float:
        return self._farm.now() - ASK_AGAIN_AFTER_S

    async def _first(self, branch: str) -> int:
        """The position from which on commits of a branch are measured for their own sake."""
        if self._farm.workflow.concurrency.cancel_in_progress:
            return await self._farm.store.first_of_newest_push(branch)
        return 0

    async def _request_series(
        self, series: Series, spans: Mapping[str, tuple[int, int]], *, idle: bool
    ) -> None:
        """Ask for the newest commit of the first branch that has one, else for an old one if idle.

        `spans` are the branches with the positions from which on they are measured, and up to
        which they were looked at.
        """
        old: CommitRow | None = None
        # The branch first that was asked for on the series the longest ago.
        measured = filter(series.measures, spans)
        for branch in sorted(measured, key=lambda name: self._asked.at_s(name, series)):
            first, last = spans[branch]
            newest = await self._newest(branch, series, last, idle=idle)
            if newest is None or not first <= newest.position <= last:
                continue  # what came just now is the next cycle's
            if newest.position > self._asked.position(branch, series):
                await ask_commit(self._farm, newest, series, reason=ProbeReason.COMMIT)
                return
            old = old or newest
        if old is not None and idle:
            await ask_commit(self._farm, old, series, reason=ProbeReason.BACKFILL)

    async def _newest(
        self, branch: str, series: Series, last: int, *, idle: bool
    ) -> CommitRow | None:
        """The newest commit of a branch that a series lacks and its gates let through."""
        if not series.gates:
            return await self._asked.newest_unmeasured(
                branch, series, last, lost_before=self._lost_before, old=idle
            )
        waiting = await self._farm.store.unmeasured(
            branch,
            series.name,
            lost_before=self._lost_before,
            limit=WINDOW_COMMITS,
        )
        return await newest_let_through(self._farm, branch, series, waiting)


async def ask_commit(
    farm: Farm,
    commit: CommitRow,
    series: Series,
    *,
    reason: ProbeReason,
    name: str = "",
) -> None:
    """Ask for as many boots of a commit as bench.yml says; `name` tells one request from another.

    Without a name it is asked for once, and again when the boots that were asked for were lost.
    """
    image = await ask_image(farm, target_of(commit.revision, commit.branch))
    tries = await farm.store.probes_of([image.id], series.name)
    lost = sum(probe.state in UNMEASURED_STATES for probe in tries)
    boots = series.iterations or await _auto(farm, series, commit)
    of = series.name
    await ask_boots(farm, image.id, of, reason, boots, serial=lost, name=name)


async def _auto(farm: Farm, series: Series, commit: CommitRow) -> int:
    samples = await farm.store.samples(
        series.name,
        (max(0, commit.position - WINDOW_COMMITS), commit.position),
        branch=commit.branch,
    )
    return auto_iterations(await calculate(learn, comparable_samples(samples)))


async def newest_let_through(
    farm: Farm, branch: str, series: Series, waiting: Sequence[CommitRow]
) -> CommitRow | None:
    """The first of some commits, newest first, that the gates of a series do not hold back."""
    if not waiting or not series.gates:
        return next(iter(waiting), None)
    measured, gates = await _before(farm, branch, series, waiting[0].position)
    through = first_let_through((commit.position for commit in waiting), measured, gates)
    return next((commit for commit in waiting if commit.position == through), None)


async def said_of(
    farm: Farm, branch: str, series: Series, waiting: Sequence[CommitRow]
) -> list[tuple[CommitRow, dict[str, Ruling]]]:
    """What each gate of a series, by its testbed, says of some commits, newest first."""
    if not waiting:
        return []
    measured, gates = await _before(farm, branch, series, waiting[0].position)
    ruled = rulings((commit.position for commit in waiting), measured, gates)
    return [
        (commit, dict(zip(series.gates, said, strict=True)))
        for commit, (_, said) in zip(waiting, ruled, strict=True)
    ]


async def _before(
    farm: Farm, branch: str, series: Series, newest: int
) -> tuple[list[int], list[Gate]]:
    """What is known behind the gates of a series and at each of them, up to a position."""
    first = max(0, newest - WINDOW_COMMITS)
    known = await _asked(farm, branch, series.name, first)
    held = await held_testbeds(farm)
    gates = [
        await _gate(farm, branch, (testbed, series.workload), first, held=testbed in held)
        for testbed in series.gates
    ]
    measured = [one.position for one in known if one.state in OPEN_PROBES or _ended_well(one)]
    return measured, gates


async def _gate(farm: Farm, branch: str, series: SeriesName, first: int, *, held: bool) -> Gate:
    asked = await _asked(farm, branch, series, first)
    last = max((one.position for one in asked), default=0)
    samples = await farm.store.samples(series, (first, last), branch=branch)
    well = {one.position for one in asked if _ended_well(one)}
    return Gate(
        settled={one.position for one in asked if one.state in _SETTLED},
        figures=figures_of(samples, well),
        least=farm.workflow.min_effect_on(series[0]),
        quarantined=held,
    )


async def _asked(farm: Farm, branch: str, series: SeriesName, first: int) -> Sequence[AskedRow]:
    """The newest request for each commit from a position on."""
    rows = await farm.store.asked_commits(branch, series, first)
    return tuple({row.position: row for row in rows}.values())


def _ended_well(asked: AskedRow) -> bool:
    """With a value, or as a no-op change."""
    return asked.state == ProbeState.DONE and asked.failure_kind is None


# Of two requests the later number may be in the table first: so many back, one is no surprise.
_LATE_COMMITS = 100

_Place = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Looked:
    """Of a series on a branch: all commits at positions in (low, high] need no measuring.

    That holds while `undone` are the numbers of the series' requests that are to be forgotten.
    """

    low: int
    high: int
    undone: tuple[int, int]


class _AskedFor:
    """By branch and series how far commits were asked for, and between where nothing is left."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._branches: list[BranchRow] = []
        self._tips: frozenset[tuple[str, str]] = frozenset()
        self._forget()

    def _forget(self) -> None:
        self._newest = 0
        self._asked: dict[_Place, tuple[int, float]] = {}
        self._looked: dict[_Place, _Looked] = {}

    async def look(self, tips: Mapping[str, CommitRow], *, lost_before: float) -> None:
        """Take in what was asked for, and given up, since the last look."""
        store = self._farm.store
        branches = await store.branches()
        if branches != self._branches or not await store.have_commits(self._tips):
            self._forget()
        self._branches = branches
        self._tips = frozenset((row.branch, row.sha) for row in tips.values())
        for row in await store.asked_since(self._newest - _LATE_COMMITS):
            place = (row.branch, row.testbed, row.workload)
            position, at_s = self._asked.get(place, (0, 0.0))
            self._asked[place] = (max(position, row.position), max(at_s, row.at_s))
            self._newest = max(self._newest, row.probe_id)
        self._undone = await store.undone_commits(lost_before)

    def taken_back(self) -> None:
        """Look at all commits anew: some of them are no longer presumed to be no-op changes."""
        self._looked.clear()

    def position(self, branch: str, series: Series) -> int:
        """That of the newest of a branch's own commits that was ever asked for as such, or 0."""
        return self._asked.get(_place_of(branch, series), (0, 0.0))[0]

    def at_s(self, branch: str, series: Series) -> float:
        """When one of a branch's own commits was last asked for on its own account, or 0."""
        return self._asked.get(_place_of(branch, series), (0, 0.0))[1]

    async def newest_unmeasured(
        self, branch: str, series: Series, last: int, *, lost_before: float, old: bool
    ) -> CommitRow | None:
        """The newest commit up to a position that a series lacks; `old` ones only where wanted.

        Old are those behind the newest that was asked for.
        """
        known = self._known(branch, series)
        high = last if known is None else known.high
        low = last if known is None else known.low
        if high < last:
            found = await self._unmeasured(branch, series, (high + 1, last), lost_before)
            if found is not None:
                return found
        if not low or not (old or low > self.position(branch, series)):
            self._keep(branch, series, low, last)
            return None
        found = await self._unmeasured(branch, series, (0, low), lost_before)
        self._keep(branch, series, found.position if found else 0, last)
        return found

    async def _unmeasured(
        self, branch: str, series: Series, span: tuple[int, int], lost_before: float
    ) -> CommitRow | None:
        found = await self._farm.store.unmeasured(
            branch,
            series.name,
            span[0],
            last_position=span[1],
            lost_before=lost_before,
            limit=1,
        )
        return next(iter(found), None)

    def _known(self, branch: str, series: Series) -> _Looked | None:
        known = self._looked.get(_place_of(branch, series))
        return known if known and known.undone == self._undone_of(series) else None

    def _keep(self, branch: str, series: Series, low: int, high: int) -> None:
        undone = self._undone_of(series)
        self._looked[_place_of(branch, series)] = _Looked(low=low, high=high, undone=undone)

    def _undone_of(self, series: Series) -> tuple[int, int]:
        return self._undone.get(series.name, (0, 0))


def _place_of(branch: str, series: Series) -> _Place:
    return branch, series.testbed, series.workload
