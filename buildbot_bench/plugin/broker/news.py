"""Memory of what needs no second look: commits that were asked for, searches without news."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench.plugin.db.columns import UNBUILT
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import CommitRow, ProbeRow
from buildbot_bench.plugin.db.schema import BranchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Series, testbed_of
from buildbot_bench.workflow.model import Workflow

# Of two requests the later number may be in the table first: so many back, one is no surprise.
_LATE_COMMITS = 100

Place = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """Of a series on a branch: all commits at positions in (low, high] need no measuring.

    That holds while `undone` are the numbers of the series' requests that are to be forgotten.
    """

    low: int
    high: int
    undone: tuple[int, int]


class Asked:
    """By branch and series how far commits were asked for, and between where nothing is left."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._branches: list[BranchRow] = []
        self._tips: frozenset[tuple[str, str]] = frozenset()
        self._forget()

    def _forget(self) -> None:
        self._newest = 0
        self._asked: dict[Place, tuple[int, float]] = {}
        self._looked: dict[Place, Looked] = {}

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
        return self._asked.get(_place(branch, series), (0, 0.0))[0]

    def at_s(self, branch: str, series: Series) -> float:
        """When one of a branch's own commits was last asked for on its own account, or 0."""
        return self._asked.get(_place(branch, series), (0, 0.0))[1]

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

    def _known(self, branch: str, series: Series) -> Looked | None:
        known = self._looked.get(_place(branch, series))
        return known if known and known.undone == self._undone_of(series) else None

    def _keep(self, branch: str, series: Series, low: int, high: int) -> None:
        undone = self._undone_of(series)
        self._looked[_place(branch, series)] = Looked(low=low, high=high, undone=undone)

    def _undone_of(self, series: Series) -> tuple[int, int]:
        return self._undone.get(series.name, (0, 0))


def _place(branch: str, series: Series) -> Place:
    return branch, series.testbed, series.workload


# Of two iterations the later number may be in the table first: so many back, one is no surprise.
_LATE_ROWS = 1000


class News:
    """Of each search that waits what was so when it was looked at last."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._workflow: Workflow | None = None
        self._iterations: dict[tuple[str, str], int] = {}
        self._now: dict[int, Hashable] = {}
        self._seen: dict[int, Hashable] = {}

    async def look(self, searches: Sequence[SearchRow]) -> None:
        """Read the state of all searches."""
        store = self._farm.store
        if self._workflow is not self._farm.workflow:
            self._workflow, self._seen = self._farm.workflow, {}
        newest = max(self._iterations.values(), default=0)
        self._iterations |= await store.newest_iterations(newest - _LATE_ROWS)
        probes = await store.open_probes()
        unbuilt = [image.id for state in UNBUILT for image in await store.images(state=state)]
        images = await store.versions_of_ranges()
        lasting = tuple(await store.quarantines(open_only=True))
        by_worker = self._by_worker(probes)
        waiting = {probe.search_id for probe in probes}
        self._now = {
            search.id: (
                search.version,
                images.get(search.id),
                self._iterations.get(search.series),
                by_worker.get(testbed_of(self._farm, search.testbed).worker),
                len(unbuilt) < len(self._farm.workflow.build_job_of(search.repository).runs_on),
                lasting,
            )
            for search in searches
            if search.id in waiting
        }
        self._seen = {number: seen for number, seen in self._seen.items() if number in self._now}

    def is_there(self, search: SearchRow) -> bool:
        """Whether to look at a search; at one that waits for nothing, always."""
        return search.id not in self._now or self._seen.get(search.id) != self._now[search.id]

    def was_looked_at(self, search: SearchRow) -> None:
        """Let what was read be no news any more; what was asked for since is."""
        if search.id in self._now:
            self._seen[search.id] = self._now[search.id]

    def _by_worker(self, probes: Sequence[ProbeRow]) -> dict[str, frozenset[tuple[int, int]]]:
        """By worker its open probes, with their versions."""
        found: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for probe in probes:
            found[testbed_of(self._farm, probe.testbed).worker].add((probe.id, probe.version))
        return {worker: frozenset(those) for worker, those in found.items()}
