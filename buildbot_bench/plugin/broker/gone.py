"""How what runs ends when bench.yml loses its testbed or workload; what was measured it leaves.

A request for what is gone would wait for ever: its builder is gone, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from buildbot_bench.plugin.broker.ask import OPEN_PROBES, call_off, cancel_probes
from buildbot_bench.plugin.broker.profiles import OPEN_PROFILES
from buildbot_bench.plugin.db.finding_rows import ComparisonRow, SearchRow, TrialRow
from buildbot_bench.plugin.db.rows import ProbeRow, ProfileRow, QuarantineRow
from buildbot_bench.plugin.db.states import (
    ComparisonState,
    ProfileState,
    SearchState,
    TrialState,
)
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.retries import for_each
from buildbot_bench.plugin.farm.series import captures_gone, gone, in_one_line, reasons_gone
from buildbot_bench.plugin.quarantine import end_quarantine


class Gone:
    """Ends, with the reason, what is asked of testbeds and workloads that are gone."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look at all that has not ended; it comes first in a turn, so that no part meets it."""
        store = self._farm.store
        running = await store.searches(states=(SearchState.RUNNING,))
        await for_each(running, self._search, "the end of search")
        trials = await store.trials(states=(TrialState.RUNNING, TrialState.AWAITING))
        await for_each(trials, self._trial, "the end of comparison of variants")
        await for_each(await self._probes(), self._probe, "the end of probe")
        await for_each(await self._captures(), self._capture, "the end of capture")
        suspicions = await store.comparisons(state=ComparisonState.SUSPICION)
        await for_each(suspicions, self._suspicion, "the end of suspicion")
        lasting = await store.quarantines(open_only=True)
        await for_each(lasting, self._quarantine, "the end of quarantine")

    async def requests(self) -> list[int]:
        """Buildbot's requests for what is gone, which `advance` calls off."""
        probes = [
            probe.brid
            for probe in await self._probes()
            if gone(self._farm, probe.testbed, probe.workload)
        ]
        captures = [
            row.brid
            for row in await self._captures()
            if captures_gone(self._farm, row.testbed, row.workload)
        ]
        return [brid for brid in (*probes, *captures) if brid is not None]

    async def _probes(self) -> list[ProbeRow]:
        store = self._farm.store
        return [probe for state in OPEN_PROBES for probe in await store.probes(state=state)]

    async def _captures(self) -> list[ProfileRow]:
        store = self._farm.store
        return [row for state in OPEN_PROFILES for row in await store.profiles(state=state)]

    async def _search(self, search: SearchRow) -> None:
        if why := gone(self._farm, search.testbed, search.workload):
            await self._cancel(await self._farm.store.probes_of_search(search.id), why)
            await self._farm.store.change_search(
                search, state=SearchState.CANCELLED, detail=why, ended_at=self._farm.now()
            )

    async def _trial(self, trial: TrialRow) -> None:
        """One that has lanes left goes on with those."""
        reasons = reasons_gone(self._farm, trial.lanes)
        if all(reasons):
            why = in_one_line(reasons)
            await self._cancel(await self._farm.store.probes_of_trial(trial.id), why)
            await self._farm.store.change_trial(
                trial, state=TrialState.CANCELLED, detail=why, ended_at=self._farm.now()
            )

    async def _probe(self, probe: ProbeRow) -> None:
        if why := gone(self._farm, probe.testbed, probe.workload):
            await self._cancel([probe], why)

    async def _cancel(self, probes: Iterable[ProbeRow], why: str) -> None:
        await cancel_probes(self._farm, probes, why, failure=why)

    async def _capture(self, row: ProfileRow) -> None:
        if why := captures_gone(self._farm, row.testbed, row.workload):
            await self._farm.store.change_profile(
                row, state=ProfileState.FAILED, failure=why, ended_at=self._farm.now()
            )
            await call_off(self._farm, row.brid, why)

    async def _suspicion(self, row: ComparisonRow) -> None:
        """Without fresh boots it can neither be confirmed nor refuted."""
        if why := gone(self._farm, row.testbed, row.workload):
            await self._farm.store.change_comparison(
                row,
                now=self._farm.now(),
                state=ComparisonState.UNFIT,
                verdict=(row.verdict or {}) | {"reason": why},
            )

    async def _quarantine(self, row: QuarantineRow) -> None:
        """It is the testbed's: another workload tells as well that it is not to be believed."""
        if row.testbed not in self._farm.workflow.testbeds:
            why = gone(self._farm, row.testbed, row.workload)
            await end_quarantine(self._farm, row, by=why)
