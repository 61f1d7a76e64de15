"""Which commits are measured next, testbed by testbed: the newest first, the rest when idle.

Behind a gate that is the newest one that the gate lets through.
"""

from __future__ import annotations

from buildbot_bench.core.noise import auto_iterations, learn
from buildbot_bench.plugin.broker.ask import OPEN_PROBES, Plain, ask_image, ask_probe
from buildbot_bench.plugin.broker.gates import newest_let_through
from buildbot_bench.plugin.broker.priority import Priority
from buildbot_bench.plugin.db.rows import CommitRow, ProbeRow
from buildbot_bench.plugin.db.states import ProbeReason, ProbeState
from buildbot_bench.plugin.evidence import WINDOW_COMMITS, comparable_samples
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Lane, lanes

# What gave nothing stays as it is: asking again takes a key of its own.
GONE_PROBES = frozenset({ProbeState.LOST, ProbeState.CANCELLED})
# A commit that was lost to sick machines is asked for again when they may have been mended.
ASK_AGAIN_AFTER_S = 3600.0


class Wants:
    """Keeps one commit under measurement in each lane, and a second only when the lab is idle."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Ask for the newest commit of each lane that has none, else for an old one if idle."""
        open_probes = [
            probe for state in OPEN_PROBES for probe in await self._farm.store.probes(state=state)
        ]
        busy_testbeds = {probe.testbed for probe in open_probes}
        searched = {
            search.testbed
            for search in await self._farm.store.searches(states=("running", "cancelling"))
        }
        push = self._farm.workflow.on.push
        for branch in push.branches if push else ():
            for lane in lanes(self._farm.workflow.bench_jobs):
                if _has_commit(open_probes, lane):
                    continue
                idle = lane.testbed not in busy_testbeds | searched
                await self._want(branch, lane, idle=idle)

    async def _want(self, branch: str, lane: Lane, *, idle: bool) -> None:
        store = self._farm.store
        waiting = await store.unmeasured(
            branch,
            lane.testbed,
            lane.workload,
            lost_before=self._farm.now() - ASK_AGAIN_AFTER_S,
            limit=WINDOW_COMMITS if lane.gates else 1,
        )
        newest = await newest_let_through(self._farm, branch, lane, waiting)
        if newest is None:
            return
        measured = await store.newest_asked_position(branch, lane.testbed, lane.workload)
        if measured is None or newest.position > measured:
            await self._ask(newest, lane, ProbeReason.COMMIT, Priority.COMMIT)
        elif idle:
            await self._ask(newest, lane, ProbeReason.BACKFILL, Priority.BACKFILL)

    async def _ask(
        self, commit: CommitRow, lane: Lane, reason: ProbeReason, priority: Priority
    ) -> None:
        revision = Plain(sha=commit.sha, position=commit.position, label=commit.revision.label)
        image = await ask_image(self._farm, revision)
        tries = await self._farm.store.probes_of([image.id], lane.testbed, lane.workload)
        gone = sum(probe.state in GONE_PROBES for probe in tries)
        await ask_probe(
            self._farm,
            f"commit:{commit.sha}:{lane.testbed}:{lane.workload}" + (f"@{gone}" if gone else ""),
            image,
            testbed=lane.testbed,
            workload=lane.workload,
            iterations=lane.iterations or await self._auto(lane, commit.position),
            reason=reason,
            priority=priority,
        )

    async def _auto(self, lane: Lane, position: int) -> int:
        samples = await self._farm.store.samples(
            testbed=lane.testbed,
            workload=lane.workload,
            first_position=max(0, position - WINDOW_COMMITS),
            last_position=position,
            branch=self._farm.branch,
        )
        return auto_iterations(learn(comparable_samples(samples)))


def _has_commit(open_probes: list[ProbeRow], lane: Lane) -> bool:
    return any(
        (probe.testbed, probe.workload) == (lane.testbed, lane.workload)
        and probe.reason in (ProbeReason.COMMIT, ProbeReason.BACKFILL)
        for probe in open_probes
    )
