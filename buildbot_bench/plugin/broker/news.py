"""Memory of the state at the last look, which tells whether a waiting search could act."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.db.states import UNBUILT
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import testbed_of
from buildbot_bench.workflow import Workflow

# Of two iterations the later number may be in the table first: so many back, one is no surprise.
_LATE = 1000


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
        self._iterations |= await store.newest_iterations(newest - _LATE)
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
                self._iterations.get((search.testbed, search.workload)),
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
