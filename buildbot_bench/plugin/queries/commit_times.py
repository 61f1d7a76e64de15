"""The commit times of a series, each read from git once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.history import MirrorHistory
from buildbot_bench.plugin.db.series import PointRow
from buildbot_bench.plugin.farm import Farm

RETRY_S = 60.0
"""So long a missing commit is not asked for again; chosen: as long as between two polls."""


class CommitTimes:
    """Commit times by hash, in seconds since the epoch: those that were found stay known."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._missing: defaultdict[str, set[str]] = defaultdict(set)
        self._again_s: dict[str, float] = {}
        self._late: Counter[str] = Counter()

    async def of(self, farm: Farm, branch: str, points: Sequence[PointRow]) -> list[int]:
        """The time of each point's commit; 0 where neither the tables nor the mirror have it.

        The tables have what came to the branch since the farm watches it, the mirror all.
        """
        missing = self._missing[branch]
        unknown = [p for p in points if p.sha not in self._known and p.sha not in missing]
        if unknown:
            first, last = unknown[0].position, unknown[-1].position
            self._known |= await farm.store.commit_times(branch, first, last)
            older = {point.sha for point in unknown} - self._known.keys()
            if older:
                self._known |= await farm.git(_from_git, farm, branch, older)
                missing |= older - self._known.keys()
                self._again_s[branch] = farm.now() + RETRY_S
        return [self._known.get(point.sha, 0) for point in points]

    async def found_late(self, farm: Farm, branch: str) -> int:
        """How many commits of a branch were missing first, and came; once a minute it looks."""
        missing = self._missing.get(branch)
        if missing and farm.now() >= self._again_s[branch]:
            self._again_s[branch] = farm.now() + RETRY_S
            found = await farm.git(_from_git, farm, branch, frozenset(missing))
            self._known |= found
            missing -= found.keys()
            self._late[branch] += len(found)
        return self._late[branch]


def _from_git(farm: Farm, branch: str, shas: Collection[str]) -> Mapping[str, int]:
    """Those that are there; nothing before the mirror is."""
    try:
        history = farm.history.of(branch)
    except UsageError:  # its repository is watched no more
        return {}
    return dict(_times(history, shas)) if history.is_there else {}


def _times(history: MirrorHistory, shas: Iterable[str]) -> Iterable[tuple[str, int]]:
    for sha in shas:
        try:
            yield sha, history.resolve(sha).committed_at_s
        except UsageError:  # a rewritten branch has left it, or it was not fetched yet
            continue
        except InfraError:
            return
