"""When a control image is measured, and when a testbed goes into quarantine and out of it."""

from __future__ import annotations

from twisted.python import log

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.health import GOOD_ROUNDS, Point, Signal, has_recovered
from buildbot_bench.plugin.broker.ask import OPEN_PROBES, Plain, ask_image, ask_probe
from buildbot_bench.plugin.broker.priority import Priority
from buildbot_bench.plugin.controls import ControlState, base_key, control_state
from buildbot_bench.plugin.db.rows import QuarantineRow
from buildbot_bench.plugin.db.states import ProbeReason, ProbeState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.quarantine import end_quarantine

# In quarantine the control image is measured so many times as often, for as many rounds.
MORE_OFTEN = 24


class Controls:
    """Keeps each testbed's control image measured, and draws the consequences of its chart."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._complained: dict[str, str] = {}

    async def advance(self) -> None:
        """Look at each testbed; what is wrong with one must not hold up the others."""
        for testbed in sorted(self._farm.workflow.testbeds):
            try:
                await self._advance(testbed)
                self._complained.pop(testbed, None)
            except UsageError as problem:
                if self._complained.get(testbed) != str(problem):
                    log.msg(f"bench: the control image of {testbed}: {problem}")
                self._complained[testbed] = str(problem)

    async def _advance(self, testbed: str) -> None:
        for row in await self._farm.store.quarantines(testbed, open_only=True):
            await self._forget_commits(row)
        state = await control_state(self._farm, testbed)
        if state is None:
            return
        await self._judge(state)
        if not any(probe.state in OPEN_PROBES for probe in state.asked):
            await self._ask_if_due(state)

    async def _forget_commits(self, row: QuarantineRow) -> None:
        """Let the commits that were measured in doubt be asked for again, by whoever wants them."""
        for probe in await self._farm.store.commits_measured_since(row.testbed, row.since_s):
            why = f"{row.testbed} was out of control: {row.reason}"
            await self._farm.store.change_probe(
                probe, state=ProbeState.LOST, failure=why, ended_at=self._farm.now()
            )

    async def _judge(self, state: ControlState) -> None:
        lasting, newest = state.quarantine, state.chart.newest
        if newest is None:
            return
        if lasting is None:
            if newest.signal is not None:
                await self._begin(state, newest)
        elif lasting.epoch != state.epoch:
            await end_quarantine(self._farm, lasting, by="a new epoch")
        else:
            since = [
                point
                for one, point in zip(state.rounds, state.chart.points, strict=True)
                if one.probe_id > lasting.probe_id
            ]
            # Without a good round to compare with, nobody can tell: a person has to.
            comparable = state.chart.good or _never_gave_a_value(state, lasting)
            if comparable and has_recovered(since, lasting.shift, state.policy):
                await end_quarantine(self._farm, lasting, by="the control image, good again")

    async def _begin(self, state: ControlState, newest: Point) -> None:
        await self._farm.store.begin_quarantine(
            probe_id=state.rounds[-1].probe_id,
            testbed=state.testbed,
            workload=state.workload,
            epoch=state.epoch,
            since_s=state.last_good_s or state.rounds[0].round.at_s,
            shift=_shift(newest),
            reason=_reason(state, newest),
            now=self._farm.now(),
        )
        log.msg(f"bench: {state.testbed} is in quarantine: {_reason(state, newest)}")
        self._farm.wake()

    async def _ask_if_due(self, state: ControlState) -> None:
        firsts = [probe for probe in state.asked if base_key(probe) == probe.key]
        if firsts and self._farm.now() < firsts[-1].created_at + _pause_s(state):
            return
        revision = await self._farm.git(self._farm.history.resolve, state.control.revision)
        image = await ask_image(
            self._farm,
            Plain(sha=revision.sha, position=revision.position, label=revision.label),
        )
        serial = int(firsts[-1].key.rpartition(":")[2]) + 1 if firsts else 1
        await ask_probe(
            self._farm,
            f"control:{state.testbed}:{serial}",
            image,
            testbed=state.testbed,
            workload=state.workload,
            iterations=state.control.iterations,
            reason=ProbeReason.CONTROL,
            priority=Priority.CONTROL,
        )


def _pause_s(state: ControlState) -> float:
    """From one request to the next; in a quarantine as many as could end it follow at once."""
    lasting = state.quarantine
    if lasting is None:
        return state.control.every
    since = sum(one.probe_id > lasting.probe_id for one in state.rounds)
    if since < GOOD_ROUNDS:
        return 0.0
    return state.control.every / MORE_OFTEN if since < MORE_OFTEN else state.control.every


def _never_gave_a_value(state: ControlState, lasting: QuarantineRow) -> bool:
    """Whether that alone is what this control image was held for, so that any value mends it."""
    began = next((probe for probe in state.asked if probe.id == lasting.probe_id), None)
    same = began is not None and began.image_id == state.asked[-1].image_id
    return same and lasting.shift is None and lasting.workload == state.workload


def _shift(point: Point) -> float | None:
    """By what fraction the testbed is off, as its chart saw it."""
    return point.average if point.signal is Signal.DRIFT else point.deviation


def _reason(state: ControlState, point: Point) -> str:
    """What the chart showed, as one clause."""
    what = f"the control image {state.image.label if state.image else state.control.revision}"
    match point.signal:
        case Signal.LEAP:
            return f"{what} is off by {point.deviation or 0:+.1%}"
        case Signal.DRIFT:
            return f"{what} has drifted by {point.average:+.1%}"
        case _:
            return f"{what} gave no value: {point.round.failure}"
