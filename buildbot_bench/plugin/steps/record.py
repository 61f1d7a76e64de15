"""The following of a lab job to its end, and the storage of its events in order.

The job outlives the command that prints it: only the job's own last event says that it is over, and
a repeated request attaches to it by its name.
"""

import json
import re
from collections import deque
from dataclasses import replace
from typing import Any

from buildbot.process.logobserver import LogLineObserver
from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.metric import RunTimes, heard, overall
from buildbot_bench.core.wire import (
    Event,
    Failed,
    FailureKind,
    Finished,
    Joiner,
    Measured,
    Phase,
    Started,
    parse_event,
)
from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.farm import Farm

_LOG = Logger()

# A traceback has its reason in its last line, a usage error in its last few.
_LINES_KEPT = 20
_PROGRAM = "bench-lab"
_TRACEBACK = "Traceback (most recent call last)"
# Twisted, in the worker's child, before it could become bench-lab.
_NOT_RUN = "Upon execvpe"
_KILLED = re.compile(r"process killed by signal (\d+)")


class LastOutput:
    """Remembers the end of what a command wrote to stderr, and what the worker said of it."""

    def __init__(self) -> None:
        self._errors: deque[str] = deque(maxlen=_LINES_KEPT)
        self._killed = ""

    def error(self, line: str) -> None:
        """Take one line of stderr."""
        if line.strip():
            self._errors.append(line)

    def header(self, line: str) -> None:
        """Take one line that the worker says of the command."""
        if found := _KILLED.search(line):
            self._killed = f"{_PROGRAM} was killed by signal {found[1]}"

    def reason(self, command: Any) -> str:
        """Why Buildbot's remote command ended; empty when nothing tells it."""
        match command.remote_failure_reason:
            case "timeout":
                return f"{_PROGRAM} did not end within timeout-minutes of bench.yml"
            case "timeout_without_output":
                return f"{_PROGRAM} printed nothing for too long; is the lab controller overloaded?"
        return long_line(self._said() or self._killed)

    def _said(self) -> str:
        if not self._errors:
            return ""
        lines = list(self._errors)
        if any(_NOT_RUN in line for line in lines):
            return f"the lab worker cannot run {_PROGRAM}: {lines[-1]}; is it on the worker's PATH?"
        begun = [n for n, line in enumerate(lines) if line.startswith((_PROGRAM, _TRACEBACK))]
        if not begun:
            return lines[-1]
        if lines[begun[-1]].startswith(_TRACEBACK):
            return f"{_PROGRAM} broke: {lines[-1]}"
        return " ".join(lines[begun[-1] :])


# What is said of a job that was followed no longer, when nothing tells why.
NO_REASON = "the job ended without a word"


class EventReader(LogLineObserver):
    """Reads a job's standard output line by line; each event is taken before the next one is.

    A job may be read several times, each time from its first event. `ending` is its last event,
    once all before it were taken; `fault` is the first thing that could not be read; `events_taken`
    is how many events were taken. All three are about the newest reading.
    """

    def __init__(self) -> None:
        super().__init__()
        self._order = DeferredLock()
        self.begin()

    def begin(self) -> None:
        """Get ready for a command that prints the job from its first event."""
        self._joiner = Joiner()
        self.last_output = LastOutput()
        self.ending: Failed | Finished | None = None
        self.fault = ""
        self.events_taken = 0
        self.missed = ""

    def outLineReceived(self, line: str) -> None:
        """Take one line of the job's standard output."""
        whole = self._joiner.take(line)
        if whole is None:
            return
        try:
            event = parse_event(whole)
        except InfraError as error:
            self.fault = self.fault or str(error)
            return
        self._order.run(lambda: self._take_in_turn(event))

    def errLineReceived(self, line: str) -> None:
        """Take one line of what the command says to a person."""
        self.last_output.error(line)

    def headerLineReceived(self, line: str) -> None:
        """Take one line that the worker says of the command."""
        self.last_output.header(line)

    def drained(self) -> Deferred[None]:
        """Fires when all events that were read are taken."""
        return self._order.run(lambda: None)

    async def take(self, event: Event) -> None:
        """What is done with an event that is not the last one."""
        raise NotImplementedError

    def _take_in_turn(self, event: Event) -> Deferred[None]:
        # A failure is noted before the next event's turn: the job's end asks for it.
        return Deferred.fromCoroutine(self._took(event)).addErrback(self._complain)

    async def _took(self, event: Event) -> None:
        match event:
            case Failed() | Finished():
                # What was missed is on the lab's disk: the job must be read again.
                self.ending = None if self.missed else event
            case _:
                await self.take(event)
        self.events_taken += 1

    def _complain(self, failure: Any) -> None:
        if failure.check(InfraError):
            # The event itself is nonsense, and will be the same the next time.
            self.fault = self.fault or failure.getErrorMessage()
            self.events_taken += 1
            return
        _LOG.failure("bench: an event of a lab job was not recorded", failure=failure)
        self.missed = self.missed or failure.getErrorMessage() or repr(failure.value)


class Recorder(EventReader):
    """Makes a row of each iteration.

    One that is already known, because the job was attached to again, changes nothing.
    """

    def __init__(self, *, step: Any, farm: Farm, probe: ProbeRow) -> None:
        super().__init__()
        self._step = step
        self._farm = farm
        self._probe = probe
        self._facts: dict[str, str] = {}
        self._mirrored: set[int] = set()

    async def take(self, event: Event) -> None:
        """Keep facts and iterations, show phases."""
        match event:
            case Started():
                self._facts = event.facts
                for metric in event.metrics:
                    await self._farm.store.keep_metric(
                        testbed=self._probe.testbed, workload=self._probe.workload, metric=metric
                    )
                changed = await self._farm.store.change(self._probe, epoch=event.epoch)
                self._probe = changed or replace(self._probe, epoch=event.epoch)
            case Phase():
                self._step.descriptionSuffix = [event.text]
                self._step.updateSummary()
            case Measured():
                await self._store(event)

    async def _store(self, event: Measured) -> None:
        values: dict[str, float | None] = dict(event.values) or {"": None}
        for unit, value in values.items():
            await self._farm.store.add_iteration(
                probe=self._probe,
                ordinal=event.ordinal,
                unit=unit,
                value=value,
                failure=event.failure,
                at_s=event.at_s,
                duration_s=event.duration_s,
                log=event.log if unit in list(values)[:1] else "",  # once: it is long
                facts={**self._facts, **event.facts},
                times=RunTimes.heard(event.times),
            )
        probe = self._probe
        _LOG.info(
            "bench: iteration {boot} of probe {probe} gave {values}",
            boot=event.ordinal,
            probe=probe.id,
            search=probe.search_id,
            comparison=probe.ab_test_id,
            image=probe.image_id,
            testbed=probe.testbed,
            workload=probe.workload,
            values=json.dumps(dict(event.values)),
            because=one_line(event.failure or ""),
        )
        if event.ordinal not in self._mirrored:
            self._mirrored.add(event.ordinal)
            await self._step.mirror(event)
        if event.named:
            await self._store_named(event)

    async def _store_named(self, event: Measured) -> None:
        """Keep the named values, last: of those that make no sense the primary one stays."""
        store, probe, named = self._farm.store, self._probe, heard(event.named)
        mean = overall(named)
        if mean is not None and mean[0].unit in event.values:
            series = {"testbed": probe.testbed, "workload": probe.workload}
            await store.keep_metric(**series, metric=mean[0])
        await store.add_values(probe=probe, ordinal=event.ordinal, named=named)


def failure_text(ending: Failed | Finished | None, fault: str) -> tuple[FailureKind, str] | None:
    """What went wrong with a job, or None when it gave all that was asked for.

    The reason is harmless: it is kept, shown and mailed.
    """
    match ending:
        case Finished() if fault:
            return FailureKind.INFRASTRUCTURE, long_line(fault)
        case Finished():
            return None
        case Failed():
            return ending.kind, long_line(ending.reason)
        case None:
            return FailureKind.INFRASTRUCTURE, long_line(fault) or NO_REASON


# So many commands in a row that bring nothing new are enough for one build.
MOST_FRUITLESS = 3
# How bench-lab ends when what it was told cannot be: to say it again would not help.
USAGE = 2


async def follow(step: Any, reader: EventReader, arguments: list[str]) -> Any:
    """Run the command until the job's end was read; returns the last remote command.

    It is given up, without that end, when it is wrong, when it takes too long, when it brings
    nothing new several times, and when the build is stopped.
    """
    most = fruitless = 0
    while True:
        reader.begin()
        command = await step.makeRemoteShellCommand(command=arguments)
        await step.runCommand(command)
        await reader.drained()
        fruitless = 0 if reader.events_taken > most else fruitless + 1
        most = max(most, reader.events_taken)
        if (
            reader.ending is not None
            or command.rc == USAGE
            or command.remote_failure_reason is not None
            or step.build.stopped_reason is not None
            or fruitless >= MOST_FRUITLESS
        ):
            return command


def why_left(reader: EventReader, command: Any) -> str:
    """Why a job was not followed to its end, in one harmless line; empty when nothing tells it."""
    return long_line(reader.last_output.reason(command) or reader.missed or reader.fault)
