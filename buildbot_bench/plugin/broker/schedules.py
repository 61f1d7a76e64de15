"""Requests for fresh boots of a branch's tip at the times of `on.schedule`."""

from __future__ import annotations

from twisted.logger import Logger

from buildbot_bench.core.cron import parse_cron
from buildbot_bench.plugin.broker.commit_queue import ask_commit
from buildbot_bench.plugin.db.rows import CommitRow
from buildbot_bench.plugin.db.states import Priority, ProbeReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Series, all_series
from buildbot_bench.workflow import Schedule

_LOG = Logger()


class Schedules:
    """Asks for fresh boots of a branch's tip on each series, once for each time of `on.schedule`.

    A time that passed while no master ran is made up for once; those before the farm saw the
    branch are not. What is due while the last time's boots still wait is not asked for.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._missing: set[str] = set()

    async def advance(self) -> None:
        """Ask for what is due by now."""
        for schedule in self._farm.workflow.on.schedule:
            await self._advance(schedule)

    async def _advance(self, schedule: Schedule) -> None:
        store = self._farm.store
        branch = schedule.branch or self._farm.workflow.branches[0]
        tip = (await store.newest_commits((branch,))).get(branch)
        if tip is None:
            self._complain(branch)
            return
        due_s = parse_cron(schedule.cron).last_due(self._farm.now())
        first_seen_s = await store.first_arrival(branch)
        if first_seen_s is None or due_s < first_seen_s:
            return
        waiting = {
            (probe.testbed, probe.workload)
            for probe in await store.open_probes()
            if probe.reason is ProbeReason.SCHEDULE
        }
        for series in all_series(self._farm.workflow.bench_jobs):
            if series.measures(branch) and (series.testbed, series.workload) not in waiting:
                await self._ask(tip, series, due_s)

    def _complain(self, branch: str) -> None:
        if branch not in self._missing:
            self._missing.add(branch)
            _LOG.warn("bench: on.schedule: nothing was seen of {branch} yet", branch=branch)

    async def _ask(self, tip: CommitRow, series: Series, due_s: float) -> None:
        """Ask once for a time, no matter what the tip is by then."""
        name = f"schedule:{tip.branch}:{series.testbed}:{series.workload}:{due_s:.0f}"
        if await self._farm.store.probe_by_key(name) is None:
            await ask_commit(
                self._farm,
                tip,
                series,
                reason=ProbeReason.SCHEDULE,
                priority=Priority.COMMIT,
                name=name,
            )
