"""A `run:` step of the kernel job, and what its failure says of the revision."""

from __future__ import annotations

import re
from typing import Any

from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.logobserver import LogLineObserver
from buildbot.process.results import EXCEPTION, FAILURE, SUCCESS

from buildbot_bench.core.build_log import BuildLog
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.steps.restartable import Restartable
from buildbot_bench.plugin.steps.rows import image_of


class Symptoms(LogLineObserver):
    """Shows the log of a script to whoever can tell why it failed."""

    def __init__(self, script: str = "") -> None:
        super().__init__()
        self._log = BuildLog(re.split(r"[\s;&|()'\"]+", script))

    def outLineReceived(self, line: str) -> None:
        """Look at one line of the script's output."""
        self._log.take(line)

    errLineReceived = outLineReceived

    def diagnosis(self, exit_code: int | None) -> tuple[FailureKind, str]:
        """Does the revision not compile, or is the builder ill? With the line that says so."""
        found = self._log.diagnosis(exit_code)
        kind = FailureKind.INFRASTRUCTURE if found.builder_is_ill else FailureKind.UNTESTABLE
        return kind, found.reason


class Compile(Restartable, ShellMixin, BuildStep):
    """Runs a script as GitHub Actions does, by `sh -e`; a failure makes the image untestable."""

    def __init__(self, *, name: str, script: str, env: dict[str, Any], **kwargs: Any) -> None:
        self._script = script
        shell = {"command": ["sh", "-e", "-c", script], "env": env, "logEnviron": False}
        kwargs = self.setupShellMixin({**shell, "sigtermTime": 30, **kwargs})
        super().__init__(name=name, haltOnFailure=True, **kwargs)

    async def work(self) -> int:
        """Run the script; on failure say of the image what is known."""
        symptoms = Symptoms(self._script)
        self.addLogObserver("stdio", symptoms)
        command = await self.makeRemoteShellCommand()
        await self.runCommand(command)
        if command.rc == 0:
            return SUCCESS
        if self.build.stopped_reason is not None or command.rc is None:
            return EXCEPTION
        kind, reason = symptoms.diagnosis(command.rc)
        farm = farm_of(self.master)
        image = await image_of(self)
        if kind is FailureKind.INFRASTRUCTURE:
            await farm.store.change_image(image, now=farm.now(), reason=reason)
            return EXCEPTION
        await farm.store.change_image(image, now=farm.now(), state="untestable", reason=reason)
        return FAILURE
