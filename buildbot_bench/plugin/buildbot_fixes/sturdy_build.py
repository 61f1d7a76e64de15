"""Builds that end when worker or database fail, and are repeated when their master stops."""

from typing import Any

from buildbot.process.build import Build
from buildbot.process.factory import BuildFactory
from buildbot.process.results import EXCEPTION, RETRY
from buildbot.util.twisted import async_to_deferred
from twisted.logger import Logger

_LOG = Logger()


class SturdyBuild(Build):
    """A build that ends at any failure; it is repeated if that was before its first step.

    In Buildbot 4.3 such a build never ends: its request stays claimed, and its worker gets no other
    one. It puts a worker that cannot be prepared into quarantine, and one that has gone is None by
    then: that raises. So does any question to the database that fails, and what is to end the build
    then asks the database first. A build that was cancelled before it is known just returns.
    """

    @async_to_deferred
    async def startBuild(self, workerforbuilder: Any) -> None:
        """Begin; what cannot begin is asked for again."""
        try:
            await super().startBuild(workerforbuilder)
        except Exception:  # noqa: BLE001 - Buildbot would log it, and forget the build
            _LOG.failure("bench: build {build} did not begin; it is repeated", build=self.buildid)
            if self.buildid is None:
                self._let_go()
            else:
                await self.buildFinished(["not", "begun"], RETRY)
        else:
            if self.stopped and self._preparation_step is None and not self.finished:
                await self.buildFinished(["cancelled"], self.results)

    @async_to_deferred
    async def _start_next_step_impl(self, step: Any) -> None:
        """Run a step and those behind it; when that cannot be written down, the build ends."""
        try:
            await super()._start_next_step_impl(step)
        except Exception:  # noqa: BLE001 - nobody waits for it: Buildbot would forget the build
            _LOG.failure("bench: a step of build {build} failed badly", build=self.buildid)
            if not self.finished:
                await self.buildFinished(["build", "exception"], EXCEPTION)

    @async_to_deferred
    async def stepDone(self, results: int, step: Any) -> bool:
        """Merge a step's result; what a shutdown of the master stopped is repeated.

        Buildbot 4.3 means to do so itself, but decides after the step was asked to stop, and so
        ends the request as CANCELLED for good (its issue 6029).
        """
        stopped = self.stopped_reason == "Master Shutdown"
        ends: bool = await super().stepDone(RETRY if stopped else results, step)
        return ends

    @async_to_deferred
    async def buildFinished(self, text: Any, results: int) -> None:
        """End; a worker is let go even if that could not be written down."""
        await super().buildFinished(text, results)
        if self in self.builder.building:
            self._let_go()

    def _let_go(self) -> None:
        # The tables still have the build as one that goes on: masters/gone.py ends it there.
        self.finished, self.results = True, RETRY
        self.workerforbuilder.buildFinished()
        self.builder.buildFinished(self, self.workerforbuilder)

    @async_to_deferred
    async def buildPreparationFailure(self, why: Any, state_string: str) -> None:
        """Say why the worker is not prepared; what asks ends the build then."""
        if self.stopped or self.workerforbuilder.worker is not None:
            await super().buildPreparationFailure(why, state_string)
            return
        _LOG.warn("bench: a worker went before build {build} began", build=self.buildid)
        step, updates = self._preparation_step.stepid, self.master.data.updates
        await updates.setStepStateString(step, "the worker went")
        await updates.finishStep(step, EXCEPTION, False)


class SturdyFactory(BuildFactory):
    """Makes such builds."""

    buildClass = SturdyBuild
