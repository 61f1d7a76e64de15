"""Memory of the commits that were requested or need no request, by branch and series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.plugin.db.farm_rows import BranchRow
from buildbot_bench.plugin.db.rows import CommitRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Series

# Of two requests the later number may be in the table first: so many back, one is no surprise.
_LATE = 100

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
        for row in await store.asked_since(self._newest - _LATE):
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
            series.testbed,
            series.workload,
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
        return self._undone.get((series.testbed, series.workload), (0, 0))


def _place(branch: str, series: Series) -> Place:
    return branch, series.testbed, series.workload
