"""The steps that follow the lab's jobs for probes and captures, and store each result."""

from typing import Any

from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.results import EXCEPTION, FAILURE, RETRY, SKIPPED, SUCCESS
from buildbot.util.twisted import async_to_deferred

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.profile.formats import parse_folded
from buildbot_bench.core.profile.model import tidy_packets, tidy_places
from buildbot_bench.core.wire import Event, FailureKind, Finished, Measured, Phase, Profiled
from buildbot_bench.plugin.db.columns import (
    OPEN_PROBES,
    OPEN_PROFILES,
    ImageState,
    ProbeReason,
    ProfileState,
)
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, ProfileRow
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.farm import may_be_followed_again, recorded_of
from buildbot_bench.plugin.steps.record import (
    NO_REASON,
    USAGE,
    EventReader,
    Recorder,
    failure_text,
    follow,
    why_left,
)
from buildbot_bench.plugin.steps.transfer import (
    WORKER_DIRECTORY,
    ShellStep,
    image_of,
    kept_at,
    probe_of,
    profile_of,
    skipped,
)

# A lab that says nothing for this long is lost; the job prints a line at each phase.
SILENCE_S = 1200


class MeasureProbe(ShellStep):
    """Starts `bench-lab run` on the lab worker, or attaches to it, and records what it prints."""

    name = "measure"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"timeout": SILENCE_S, "workdir": WORKER_DIRECTORY} | kwargs)
        self._result_sets: dict[str, int] = {}

    @async_to_deferred
    async def run(self) -> int:
        """Run the job to its end; its outcome is written into the probe and the image."""
        self._farm = farm_of(self.master)
        probe, image = await probe_of(self), await image_of(self)
        if probe.state not in OPEN_PROBES:
            self.descriptionDone = ["no longer asked for"]
            return SKIPPED
        recorder = Recorder(step=self, farm=self._farm, probe=probe)
        self._unit_workload = probe.workload
        self.addLogObserver("stdio", recorder)
        command = await follow(self, recorder, _probe_command(probe, image))
        if recorder.ending is None:
            return await self._leave(why_left(recorder, command) or NO_REASON)
        return await self._conclude(image, failure_text(recorder.ending, recorder.fault))

    async def _leave(self, why: str) -> int:
        """Say why the job was followed no longer; it may still run, so it has not failed."""
        probe = await probe_of(self)
        if self.build.stopped_reason is None and probe.state in OPEN_PROBES:
            self.descriptionDone = [why]
            await self._farm.store.change(probe, failure=why, failure_kind=None)
        return EXCEPTION

    async def _conclude(self, image: ImageRow, failure: tuple[FailureKind, str] | None) -> int:
        farm, probe = self._farm, await probe_of(self)
        if failure is None:
            await farm.end(probe, ProbeState.DONE, failure=None, failure_kind=None)
            return SUCCESS
        kind, reason = failure
        self.descriptionDone = [reason]
        if kind is FailureKind.UNTESTABLE:
            if await is_believed(farm, probe):
                await farm.change(image, state=ImageState.UNTESTABLE, reason=reason)
            await farm.end(probe, ProbeState.DONE, failure=reason, failure_kind=kind)
            return FAILURE
        await farm.store.change(probe, failure=reason, failure_kind=kind)
        return EXCEPTION

    @async_to_deferred
    async def mirror(self, event: Measured) -> None:
        """Show the iteration in Buildbot's own test results; our tables are the truth."""
        for unit, value in event.values.items():
            if unit not in self._result_sets:
                self._result_sets[unit] = await self.addTestResultSet(
                    self._unit_workload, "performance", unit
                )
            self.addTestResult(
                self._result_sets[unit],
                repr(value),
                test_name=self._unit_workload,
                line=event.ordinal,
            )


async def is_believed(farm: Farm, probe: ProbeRow) -> bool:
    """Whether a request that found a kernel untestable says something of that kernel.

    With a tunable set, it says nothing of the kernel as it is. A control image has shown before
    that it boots: there it says something of the lab. A kernel that was measured there before
    is believed to be broken when it fails twice in a row: once says more of the workload.
    """
    if probe.tunables or probe.reason in {ProbeReason.CONTROL, ProbeReason.WORKLOAD}:
        return False
    boots = await farm.store.boots_of(probe.series, [probe.image_id])
    measured = {row.probe_id for row in boots if row.counted}
    if not measured:
        return True
    asked = await farm.store.probes_of([probe.image_id], probe.series)
    return any(
        one.failure_kind == FailureKind.UNTESTABLE
        for one in asked
        if one.id != probe.id and one.id > max(measured)
    )


def _job_command(verb: str, row: ProbeRow | ProfileRow, image: ImageRow, *more: str) -> list[str]:
    return [
        *("bench-lab", verb),
        f"--testbed={row.testbed}",
        f"--artefact={kept_at(image.digest or '')}",
        f"--digest={image.digest}",
        f"--workload={row.workload}",
        *more,
        f"--job={row.token}",
        *(f"--sysctl={setting}" for setting in row.tunables.split()),
    ]


def _probe_command(probe: ProbeRow, image: ImageRow) -> list[str]:
    command = _job_command("run", probe, image, f"--iterations={probe.iterations}")
    if probe.ab_test_id is not None:
        command.append(f"--sample=comparison-{probe.ab_test_id}")
    return command


class Abandon(ShellMixin, BuildStep):
    """Ends the job on the lab when nobody will ask for it any more; else leaves it alone."""

    name = "abandon"

    def __init__(self) -> None:
        kwargs = self.setupShellMixin(
            {"command": [], "logEnviron": False, "workdir": WORKER_DIRECTORY}
        )
        super().__init__(alwaysRun=True, flunkOnFailure=False, hideStepIf=skipped, **kwargs)

    @async_to_deferred
    async def run(self) -> int:
        """Cancel the job if its probe is cancelled, or this was the last build that followed it."""
        probe = await probe_of(self)
        if probe.state != "cancelled" and not await self._is_given_up(probe):
            return SKIPPED
        command = await self.makeRemoteShellCommand(
            command=["bench-lab", "cancel", f"--job={probe.token}"]
        )
        await self.runCommand(command)
        results: int = command.results()
        return results

    async def _is_given_up(self, probe: ProbeRow) -> bool:
        """Whether the broker will lose the probe although its job may still run."""
        runs_again = self.build.results == RETRY
        if runs_again or probe.state not in OPEN_PROBES or probe.failure_kind is not None:
            return False
        rows = await farm_of(self.master).store.iterations_of_probe(probe.id)
        return not may_be_followed_again(probe, recorded_of(rows))


class TakeCapture(ShellStep):
    """Starts `bench-lab profile` on the lab worker, or attaches to it, and keeps what it prints."""

    name = "profile"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"timeout": SILENCE_S, "workdir": WORKER_DIRECTORY} | kwargs)

    @async_to_deferred
    async def run(self) -> int:
        """Run the job to its end; without a word of its end it is asked for again."""
        farm = farm_of(self.master)
        row, image = await profile_of(self), await image_of(self)
        if row.state not in OPEN_PROFILES:
            self.descriptionDone = ["no longer asked for"]
            return SKIPPED
        reader = _Reader(self)
        self.addLogObserver("stdio", reader)
        command = await follow(self, reader, _job_command("profile", row, image))
        row = await profile_of(self)
        if reader.ending is None:
            return await self._leave(row, why_left(reader, command), wrong=command.rc == USAGE)
        if reader.taken is not None and isinstance(reader.ending, Finished):
            await farm.end(row, ProfileState.DONE, digest=reader.taken, failure=None)
            return SUCCESS
        failure = failure_text(reader.ending, reader.fault or "the lab reported no capture")
        reason = failure[1] if failure else "the lab reported no capture"
        self.descriptionDone = [reason]
        await farm.end(row, ProfileState.FAILED, failure=reason)
        return FAILURE

    async def _leave(self, row: ProfileRow, why: str, *, wrong: bool) -> int:
        """Without the job's end it is asked for again, unless what it was given is wrong."""
        farm = farm_of(self.master)
        if self.build.stopped_reason is not None:
            return EXCEPTION
        if wrong:
            reason = why or "the lab's testbed is not set up for captures: see `bench-lab profile`"
            self.descriptionDone = [reason]
            await farm.end(row, ProfileState.FAILED, failure=reason)
            return FAILURE
        if why:
            self.descriptionDone = [why]
            await farm.store.change(row, failure=why)
        return EXCEPTION


class _Reader(EventReader):
    """`taken` is the digest of the capture that was stored."""

    def __init__(self, step: Any) -> None:
        super().__init__()
        self._step = step
        self.taken: str | None = None

    async def take(self, event: Event) -> None:
        """Keep a capture that can be read, show phases."""
        match event:
            case Phase():
                self._step.descriptionSuffix = [event.text]
                self._step.updateSummary()
            case Profiled():
                try:
                    taken = parse_folded(event.folded.splitlines(), source="the lab's capture")
                except UsageError as error:
                    self.fault = str(error)
                    return
                functions = dict.fromkeys(stack.leaf for stack in taken.stacks)
                kept = await farm_of(self._step.master).store.add_capture(
                    counter=event.counter,
                    folded=event.folded,
                    taken_at=event.at_s,
                    packets=tidy_packets(event.packets),
                    places=tidy_places(event.places, functions),
                )
                self.taken = kept.digest
