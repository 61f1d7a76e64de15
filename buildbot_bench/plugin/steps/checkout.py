"""The checkout of a revision's source on a builder worker."""

from __future__ import annotations

from typing import Any

from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.properties import Interpolate
from buildbot.process.results import EXCEPTION, SUCCESS
from buildbot.steps.source.git import Git

from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.poller import GIT_CONFIG
from buildbot_bench.plugin.steps.restartable import Restartable
from buildbot_bench.plugin.steps.rows import image_of


class Checkout(Restartable, Git):
    """Buildbot's own Git step, clean to the last file, that survives a restart of the master."""

    name = "checkout"

    def __init__(self, *, repository: str) -> None:
        super().__init__(
            repourl=repository,
            mode="full",
            method="fresh",
            config=dict(GIT_CONFIG),
            logEnviron=False,
            haltOnFailure=True,
        )


class CheckoutFromMirror(Restartable, ShellMixin, BuildStep):
    """A worktree of a mirror that the builder keeps; a failure says nothing of the revision."""

    name = "checkout"

    def __init__(self, *, repository: str, mirror: str, **kwargs: Any) -> None:
        command = [
            "bench-build",
            "checkout",
            f"--mirror={mirror}",
            f"--repository={repository}",
            Interpolate("--revision=%(prop:revision)s"),
        ]
        shell = {"command": command, "logEnviron": False, "workdir": "build"}
        kwargs = self.setupShellMixin({**shell, **kwargs})
        super().__init__(haltOnFailure=True, **kwargs)

    async def work(self) -> int:
        """Run the command; the image is asked for again when git or the network failed."""
        command = await self.makeRemoteShellCommand(collectStderr=True)
        await self.runCommand(command)
        if command.rc == 0:
            return SUCCESS
        if self.build.stopped_reason is None:
            farm, image = farm_of(self.master), await image_of(self)
            reason = command.stderr.strip()[-300:] or "the checkout failed"
            await farm.store.change_image(image, now=farm.now(), reason=reason)
        return EXCEPTION
