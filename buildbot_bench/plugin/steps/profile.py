"""The lab job of one capture, watched from the master: the capture is stored as it comes."""

from __future__ import annotations

from typing import Any

from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.results import EXCEPTION, FAILURE, SKIPPED, SUCCESS

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.profile import parse_folded, tidy_packets, tidy_places
from buildbot_bench.core.wire import Event, Finished, Phase, Profiled
from buildbot_bench.plugin.broker.profiles import OPEN_PROFILES
from buildbot_bench.plugin.db.rows import ImageRow, ProfileRow
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.steps.fetch import WORKER_DIRECTORY, kept_at
from buildbot_bench.plugin.steps.following import USAGE, follow, why_left
from buildbot_bench.plugin.steps.measure import SILENCE_S
from buildbot_bench.plugin.steps.record import EventReader, failure_text
from buildbot_bench.plugin.steps.restartable import Restartable
from buildbot_bench.plugin.steps.rows import image_of, profile_of


class Profile(Restartable, ShellMixin, BuildStep):
    """Starts `bench-lab profile` on the lab worker, or attaches to it, and keeps what it prints."""

    name = "profile"

    def __init__(self, **kwargs: Any) -> None:
        usual = {"command": [], "logEnviron": False, "timeout": SILENCE_S}
        kwargs = self.setupShellMixin({**usual, "workdir": WORKER_DIRECTORY, **kwargs})
        super().__init__(haltOnFailure=True, **kwargs)

    async def work(self) -> int:
        """Run the job to its end; without a word of its end it is asked for again."""
        store, now = farm_of(self.master).store, farm_of(self.master).now
        row, image = await profile_of(self), await image_of(self)
        if row.state not in OPEN_PROFILES:
            self.descriptionDone = ["no longer asked for"]
            return SKIPPED
        reader = _Reader(self)
        self.addLogObserver("stdio", reader)
        command = await follow(self, reader, _job_command(row, image))
        row = await profile_of(self)
        if reader.ending is None:
            return await self._leave(row, why_left(reader, command), wrong=command.rc == USAGE)
        if reader.taken is not None and isinstance(reader.ending, Finished):
            await store.change_profile(
                row, state="done", digest=reader.taken, failure=None, ended_at=now()
            )
            return SUCCESS
        failure = failure_text(reader.ending, reader.fault or "the lab told of no capture")
        reason = failure[1] if failure else "the lab told of no capture"
        self.descriptionDone = [reason]
        await store.change_profile(row, state="failed", failure=reason, ended_at=now())
        return FAILURE

    async def _leave(self, row: ProfileRow, why: str, *, wrong: bool) -> int:
        """Without the job's end it is asked for again, unless what it was told is wrong."""
        farm = farm_of(self.master)
        if self.build.stopped_reason is not None:
            return EXCEPTION
        if wrong:
            reason = why or "the lab's testbed is not set up for captures: see `bench-lab profile`"
            self.descriptionDone = [reason]
            await farm.store.change_profile(
                row, state="failed", failure=reason, ended_at=farm.now()
            )
            return FAILURE
        if why:
            self.descriptionDone = [why]
            await farm.store.change_profile(row, failure=why)
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


def _job_command(row: ProfileRow, image: ImageRow) -> list[str]:
    return [
        *("bench-lab", "profile"),
        f"--testbed={row.testbed}",
        f"--artefact={kept_at(image.digest or '')}",
        f"--digest={image.digest}",
        f"--workload={row.workload}",
        f"--job={row.token}",
        *(f"--sysctl={setting}" for setting in row.tunables.split()),
    ]
