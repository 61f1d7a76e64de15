"""Builds that end when their worker goes while it is prepared."""

from __future__ import annotations

from typing import Any

from buildbot.process.build import Build
from buildbot.process.factory import BuildFactory
from buildbot.process.results import EXCEPTION
from buildbot.util.twisted import async_to_deferred
from twisted.logger import Logger

_LOG = Logger()


class SturdyBuild(Build):
    """A build that is repeated when its worker goes before its first step.

    Buildbot 4.3 puts a worker that cannot be prepared into quarantine. One that has gone is None by
    then: that raises, and the build, whose request stays claimed, would never end.
    """

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
