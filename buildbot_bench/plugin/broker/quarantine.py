"""Quarantines of testbeds, broken workloads, and whether a boot or a build may start next."""

from collections.abc import Sequence
from typing import Any

from buildbot.util.twisted import async_to_deferred
from twisted.logger import Logger

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.control_chart import GOOD_ROUNDS, Point, Signal, has_recovered
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.figures import percent
from buildbot_bench.core.incident.workload import Attempt, BrokenWorkload
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import branch_in
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.broker.ask import ask_boots, ask_image, target_of
from buildbot_bench.plugin.db.columns import OPEN_PROBES, ImageState, ProbeReason
from buildbot_bench.plugin.db.finding_rows import QuarantineRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.farm import Farm, bench_builder, farm_of, profile_builder
from buildbot_bench.plugin.farm.series import held_testbeds, testbed_of
from buildbot_bench.plugin.queries.breakages import Trouble, troubles_of_workloads
from buildbot_bench.plugin.queries.control_images import ControlState, control_state
from buildbot_bench.plugin.queries.turns import build_turns, keep_build

_LOG = Logger()


@async_to_deferred
async def may_start(builder: Any, _worker: Any, request: Any) -> bool:
    """Buildbot's question before it starts a build: holds what was issued before the quarantine."""
    farm, given = farm_of(builder.master), request.properties.getProperty
    probe = await farm.store.probe(given("bench_probe") or 0)
    profile = await farm.store.profile(given("bench_profile") or 0)
    held = await held_testbeds(farm)
    if probe is not None:
        return probe.testbed not in held or probe.reason is ProbeReason.CONTROL
    # What is neither, the step will say that it is none of ours.
    return profile is None or profile.testbed not in held


async def end_quarantine(
    farm: Farm, row: QuarantineRow, *, by: str, trusted: bool = False
) -> QuarantineRow | None:
    """Let the testbed work again; None when another was quicker.

    `trusted`: it was a false alarm, and what was measured meanwhile counts.
    """
    ended = await farm.store.change(row, ended_at=farm.now(), ended_by=by, trusted=trusted)
    # What waits in Buildbot's queues was held there: nothing else would look at it again.
    for builder in _builders(farm, row.testbed):
        farm.master.botmaster.maybeStartBuildsForBuilder(builder)
    return ended


def _builders(farm: Farm, testbed: str) -> tuple[str, ...]:
    """The builder that measures on a testbed, and the one that takes captures if there is one."""
    sampled = testbed_of(farm, testbed).profile_s is not None
    return (bench_builder(testbed), *((profile_builder(testbed),) if sampled else ()))


async def release(farm: Farm, testbed: str, *, by: str, false_alarm: bool) -> None:
    """End the quarantine of a testbed because a person says so."""
    if testbed not in farm.workflow.testbeds:
        known = ", ".join(sorted(farm.workflow.testbeds))
        raise UsageError(f"there is no testbed {quoted(testbed)}", hint=f"this farm has {known}")
    lasting = await farm.store.quarantines(testbed, open_only=True)
    if not lasting:
        raise UsageError(f"{testbed} is not in quarantine")
    for row in lasting:
        await end_quarantine(farm, row, by=by, trusted=false_alarm)
    farm.wake()


# In quarantine the control image is measured so many times as often, for as many rounds.
MORE_OFTEN = 24


class ControlImages:
    """Keeps each testbed's control image measured, and draws the consequences of its chart."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._complained: dict[str, str] = {}

    async def advance(self) -> None:
        """Look at each testbed; what is wrong with one must not hold up the others."""
        lasting = await self._farm.store.quarantines(open_only=True)
        for testbed in sorted(self._farm.workflow.testbeds):
            try:
                await self._advance(testbed, [row for row in lasting if row.testbed == testbed])
                self._complained.pop(testbed, None)
            except UsageError as problem:
                if self._complained.get(testbed) != str(problem):
                    _LOG.warn(
                        "bench: the control image of {testbed}: {problem}",
                        testbed=testbed,
                        problem=str(problem),
                    )
                self._complained[testbed] = str(problem)

    async def _advance(self, testbed: str, lasting: Sequence[QuarantineRow]) -> None:
        for row in lasting:
            await self._forget_commits(row)
        state = await control_state(self._farm, testbed)
        if state is None:
            return
        await self._judge(state)
        if not any(probe.state in OPEN_PROBES for probe in state.asked):
            await self._ask_if_due(state)

    async def _forget_commits(self, row: QuarantineRow) -> None:
        """Let the commits that were measured in doubt be asked for again."""
        for probe in await self._farm.store.commits_measured_since(row.testbed, row.since_s):
            why = f"{row.testbed} was out of control: {row.reason}"
            await self._farm.end(probe, ProbeState.LOST, failure=why)

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
            # As its chart saw it.
            shift=newest.average if newest.signal is Signal.DRIFT else newest.deviation,
            reason=_reason(state, newest),
            now=self._farm.now(),
        )
        _LOG.warn(
            "bench: {testbed} is in quarantine: {reason}",
            testbed=state.testbed,
            reason=_reason(state, newest),
        )
        self._farm.wake()

    async def _ask_if_due(self, state: ControlState) -> None:
        firsts = [probe for probe in state.asked if probe.round == 0]
        if firsts and self._farm.now() < firsts[-1].created_at + _pause_s(state):
            return
        history, written = self._farm.history, state.control.revision
        revision = await self._farm.git(history.resolve, written)
        repository = await self._farm.git(history.repository, written)
        image = await ask_image(self._farm, target_of(revision, branch_in(repository, "")))
        serial = firsts[-1].serial + 1 if firsts else 1
        series, boots = (state.testbed, state.workload), state.control.iterations
        await ask_boots(self._farm, image.id, series, ProbeReason.CONTROL, boots, serial=serial)


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
    """Whether that alone is what this control image was held for, so that any value clears it."""
    began = next((probe for probe in state.asked if probe.id == lasting.probe_id), None)
    same = began is not None and began.image_id == state.asked[-1].image_id
    return same and lasting.shift is None and lasting.workload == state.workload


def _reason(state: ControlState, point: Point) -> str:
    """What the chart showed, as one clause."""
    what = f"the control image {state.image.label if state.image else state.control.revision}"
    match point.signal:
        case Signal.LEAP:
            return f"{what} is off by {percent(point.deviation or 0)}"
        case Signal.DRIFT:
            return f"{what} has drifted by {percent(point.average)}"
        case _:
            return f"{what} gave no value: {point.round.failure}"


_IMAGE = "bench_image"


@async_to_deferred
async def next_build(builder: Any, requests: Sequence[Any]) -> Any:
    """Buildbot's question which of some requests is built next; it asks on each master."""
    farm = farm_of(builder.master)
    by_image = {_image_of(request): request for request in requests}
    if (by_hand := by_image.get(None)) is not None:
        return by_hand  # of no kernel of ours: of a person who controls the farm
    try:
        found = await build_turns(farm)
        turn = next(found.order(number for number in by_image if number is not None), None)
    except Exception:  # noqa: BLE001 - else Buildbot would start none before its next event
        _LOG.failure(
            "bench: builds are not shared out fairly: the tables do not say whose they are"
        )
        turn = None
    # Of what nobody waits for any more, and is about to be called off, Buildbot's order is good.
    highest = max(requests, key=lambda request: (request.priority, -request.id))
    return highest if turn is None else by_image[turn.demand.number]


@async_to_deferred
async def begin_build(builder: Any, _worker: Any, request: Any) -> bool:
    """Buildbot's question whether a build may start: it may, and counts for its claimant."""
    number = _image_of(request)
    if number is not None:
        await keep_build(farm_of(builder.master), number)
    return True


def _image_of(request: Any) -> int | None:
    found: int | None = request.properties.getProperty(_IMAGE)
    return found


async def revived(farm: Farm, image: ImageRow) -> ImageRow | None:
    """An image that was built once, testable again, and to be built anew if its artefact is gone.

    Any other stays as it is. None when another one changed it meanwhile.
    """
    if image.digest is None or image.state is not ImageState.UNTESTABLE:
        return image
    there = {row.digest for row in await farm.store.artefacts()}
    state = ImageState.BUILT if image.digest in there else ImageState.WANTED
    return await farm.change(image, state=state, attempt=0)


class Workloads:
    """Looks after the series whose boots fail."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._said: set[tuple[str, str]] = set()

    async def advance(self) -> None:
        """Boot what tells, and take back what a broken workload said of kernels."""
        troubles = await troubles_of_workloads(self._farm)
        held = await held_testbeds(self._farm)
        broken = set()
        for series, trouble in troubles.items():
            match trouble.verdict:
                case Attempt() as boot:
                    due, last = True, boot
                case BrokenWorkload() as verdict:
                    broken.add(series)
                    self._say(series, trouble)
                    await self._take_back(verdict, trouble.text)
                    due = self._farm.now() >= verdict.again_at_s
                    last = verdict.first
            if due and trouble.testbed not in held:
                await self._boot(trouble, last)
        self._said &= broken

    def _say(self, series: tuple[str, str], trouble: Trouble) -> None:
        if series not in self._said:
            self._said.add(series)
            _LOG.warn("bench: {text}", text=trouble.text)

    async def _boot(self, trouble: Trouble, kernel: Attempt) -> None:
        """Ask for one boot, unless one is asked for; each failure has a boot of its own."""
        proven = await self._farm.store.probe(kernel.number)
        image = None if proven is None else await self._revived(proven.image_id)
        if image is None:
            return
        asked = await self._farm.store.probes_of([image.id], (trouble.testbed, trouble.workload))
        tries = [probe for probe in asked if probe.reason is ProbeReason.WORKLOAD]
        # One that ended since the verdict may have turned it: the next cycle knows.
        if any(probe.state in OPEN_PROBES or _is_news(probe, trouble) for probe in tries):
            return
        series, serial = (trouble.testbed, trouble.workload), len(tries) + 1
        await ask_boots(self._farm, image.id, series, ProbeReason.WORKLOAD, 1, serial=serial)

    async def _take_back(self, verdict: BrokenWorkload, why: str) -> None:
        """Let no kernel pass for untestable, and what is no search's be asked for again.

        Both failures that prove it stay: they are what is known of the workload.
        """
        proof = {verdict.first.number, verdict.second.number}
        for one in verdict.since:
            probe = await self._farm.store.probe(one.number)
            if probe is None:
                continue
            await self._revived(probe.image_id)
            if one.number not in proof and not _is_kept(probe):
                await self._farm.store.change(
                    probe,
                    state=ProbeState.LOST,
                    failure=why,
                    failure_kind=FailureKind.INFRASTRUCTURE,
                )

    async def _revived(self, image_id: int) -> ImageRow | None:
        """The image of that number, testable again if it was built once; None without it."""
        image = await self._farm.store.image(image_id)
        return None if image is None else await revived(self._farm, image)


def _is_news(probe: ProbeRow, trouble: Trouble) -> bool:
    return probe.state is ProbeState.DONE and probe.id > max(trouble.known)


def _is_kept(probe: ProbeRow) -> bool:
    """Whether a failure stays as it is: a search goes by images, a retry is remembered."""
    return probe.search_id is not None or probe.reason is ProbeReason.WORKLOAD
