"""How the events of a lab job become rows, in their order; it knows no remote command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from buildbot.process.logobserver import LogLineObserver
from twisted.internet.defer import Deferred, DeferredLock
from twisted.python import log

from buildbot_bench.core.errors import InfraError
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


class EventReader(LogLineObserver):
    """Reads a job's standard output line by line; each event is taken before the next one is.

    `ending` is the job's last event; `fault` is the first thing that could not be read or taken.
    """

    def __init__(self) -> None:
        super().__init__()
        self._joiner = Joiner()
        self._order = DeferredLock()
        self.ending: Failed | Finished | None = None
        self.fault = ""

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
        done = self._order.run(lambda: Deferred.fromCoroutine(self._took(event)))
        done.addErrback(self._complain)

    def drained(self) -> Deferred[None]:
        """Fires when all events that were read are taken."""
        return self._order.run(lambda: None)

    async def take(self, event: Event) -> None:
        """What is done with an event that is not the last one."""
        raise NotImplementedError

    async def _took(self, event: Event) -> None:
        match event:
            case Failed() | Finished():
                self.ending = event
            case _:
                await self.take(event)

    def _complain(self, failure: Any) -> None:
        log.err(failure, "bench: an event of a lab job was not recorded")
        self.fault = self.fault or failure.getErrorMessage()


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

    async def take(self, event: Event) -> None:
        """Keep facts and iterations, show phases."""
        match event:
            case Started():
                self._facts = event.facts
                changed = await self._farm.store.change_probe(self._probe, epoch=event.epoch)
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
                log=event.log,
                facts=self._facts,
            )
        await self._step.mirror(event)


def failure_text(ending: Failed | Finished | None, fault: str) -> tuple[FailureKind, str] | None:
    """What went wrong with a job, or None when it gave all that was asked for."""
    match ending:
        case Finished() if fault:
            return FailureKind.INFRASTRUCTURE, fault
        case Finished():
            return None
        case Failed():
            return ending.kind, ending.reason
        case None:
            return FailureKind.INFRASTRUCTURE, fault or "the job ended without a word"
