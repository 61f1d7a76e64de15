"""How trials advance: both variants are built, then booted in turns until all boots are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from buildbot_bench.core.trial import Block, TrialSide, next_block
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.broker.ask import Priority, ask_probe, cancel_probes
from buildbot_bench.plugin.db.finding_rows import TrialRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRequest, ProbeRow
from buildbot_bench.plugin.db.states import (
    OPEN_PROBES,
    ImageState,
    ProbeReason,
    ProbeState,
    TrialState,
)
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.retries import for_each
from buildbot_bench.plugin.farm.series import in_one_line, removal_reason, removal_reasons
from buildbot_bench.plugin.queries.comparisons import Lane, sides_done

# A lane whose last so many probes were all lost to the lab is not going to end by itself.
MAX_LOST = 3


class Trials:
    """Gives every lane of every running trial its next boots, or the trial its end.

    What comes next is a function of what was measured; no cycle depends on the one before.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look at each trial that has not ended."""
        running = await self._farm.store.trials(states=(TrialState.RUNNING, TrialState.CANCELLING))
        await for_each(running, self._advance, "comparison of variants")

    async def _advance(self, trial: TrialRow) -> None:
        probes = await self._farm.store.probes_of_trial(trial.id)
        if trial.state == TrialState.CANCELLING:
            await self._end(trial, probes, TrialState.CANCELLED)
            return
        base = await self._farm.store.image(trial.base_image_id)
        new = await self._farm.store.image(trial.new_image_id)
        if base is not None and new is not None:
            await self._next(trial, probes, base, new)

    async def _next(
        self, trial: TrialRow, probes: list[ProbeRow], base: ImageRow, new: ImageRow
    ) -> None:
        if ending := _ending(trial, probes, base, new):
            state, detail = ending
            await self._end(trial, probes, state, detail=detail)
            return
        if not base.state == new.state == ImageState.BUILT:
            await self._release(base, new)
            return
        done = sides_done(trial, await self._farm.store.iterations_of_trial(trial.id))
        missing = False
        for testbed, workload in trial.lanes:
            lane = (testbed, workload)
            asked = [probe for probe in probes if (probe.testbed, probe.workload) == lane]
            if any(probe.state in OPEN_PROBES for probe in asked):
                missing = True
            elif removal_reason(self._farm, testbed, workload):
                continue
            elif block := next_block(done.get(lane, Counter()), trial.iterations):
                missing = True
                image = base if block.side is TrialSide.BASE else new
                await self._ask(trial, lane, block, image, serial=len(asked) + 1)
        if not missing:
            detail = in_one_line(removal_reasons(self._farm, trial.lanes))
            await self._end(trial, probes, TrialState.DONE, detail=detail)

    async def _release(self, *images: ImageRow) -> None:
        """A trial that runs is approved: so is what it needs. What was dropped it needs again."""
        for image in images:
            if image.state in {ImageState.HELD, ImageState.DROPPED}:
                await self._farm.store.change_image(
                    image, now=self._farm.now(), state=ImageState.WANTED
                )

    async def _ask(
        self, trial: TrialRow, lane: Lane, block: Block, image: ImageRow, *, serial: int
    ) -> None:
        testbed, workload = lane
        is_base = block.side is TrialSide.BASE
        await ask_probe(
            self._farm,
            ProbeRequest(
                image_id=image.id,
                testbed=testbed,
                workload=workload,
                iterations=block.iterations,
                reason=ProbeReason.PERSON,
                priority=Priority.PERSON,
                tunables=trial.base_tunables if is_base else trial.new_tunables,
                trial_id=trial.id,
                serial=serial,
            ),
        )

    async def _end(
        self, trial: TrialRow, probes: list[ProbeRow], state: TrialState, *, detail: str = ""
    ) -> None:
        """One compare-and-swap; what is still asked for is called off first."""
        await cancel_probes(self._farm, probes, f"trial {trial.id} has ended")
        await self._farm.store.change_trial(
            trial, state=state, detail=detail or None, ended_at=self._farm.now()
        )


def _ending(
    trial: TrialRow, probes: Sequence[ProbeRow], base: ImageRow, new: ImageRow
) -> tuple[TrialState, str] | None:
    """Why a trial cannot go on, if it cannot, or need not."""
    for image, label in ((base, trial.base_label), (new, trial.new_label)):
        if image.state == ImageState.UNTESTABLE:
            return TrialState.UNTESTABLE, f"{label} is untestable: {image.reason}"
        if image.state == ImageState.FAILED:
            return TrialState.FAILED, f"{label} cannot be built: {image.reason or 'the builders'}"
    if base.kernel and base.kernel == new.kernel and trial.base_tunables == trial.new_tunables:
        return TrialState.DONE, "no-op change: both kernels are the same but for their version"
    for probe in probes:
        if probe.failure_kind == FailureKind.UNTESTABLE:
            is_base = (probe.image_id, probe.tunables) == (base.id, trial.base_tunables)
            label = trial.base_label if is_base else trial.new_label
            return TrialState.UNTESTABLE, f"{label} is untestable: {probe.failure}"
    for lane in trial.lanes:
        recent = [p for p in probes if [p.testbed, p.workload] == list(lane)][-MAX_LOST:]
        if len(recent) == MAX_LOST and all(probe.state == ProbeState.LOST for probe in recent):
            return TrialState.FAILED, recent[-1].failure or "the lab does not answer"
    return None
