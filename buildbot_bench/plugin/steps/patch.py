"""The patches of a variant, applied to the checkout on a builder worker; it judges none of them."""

from __future__ import annotations

from typing import Any

from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.remotecommand import RemoteCommand
from buildbot.process.remotetransfer import StringFileReader
from buildbot.process.results import EXCEPTION, FAILURE, SKIPPED, SUCCESS

from buildbot_bench.core.patch import misfit, strip_level
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.plugin.artefacts import BLOCK_BYTES
from buildbot_bench.plugin.db.rows import ImageRow, PatchRow
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.steps.restartable import Restartable
from buildbot_bench.plugin.steps.rows import image_of


def worker_path(digest: str) -> str:
    """Where a builder worker keeps a patch, relative to its builder's directory."""
    return f"patches/{digest}"


class Patch(Restartable, ShellMixin, BuildStep):
    """Applies each patch by git, which refuses paths that lead out of the tree."""

    name = "patch"

    def __init__(self, **kwargs: Any) -> None:
        shell = {"command": [], "env": {"LC_ALL": "C"}, "logEnviron": False, "workdir": "build"}
        kwargs = self.setupShellMixin({**shell, **kwargs})
        super().__init__(haltOnFailure=True, hideStepIf=_skipped, **kwargs)

    async def work(self) -> int:
        """Apply the patches in order; one that does not fit makes the image untestable."""
        farm = farm_of(self.master)
        image = await image_of(self)
        digests = parse_recipe(image.variant).patches
        if not digests:
            return SKIPPED
        for digest in digests:
            patch = await farm.store.patch(digest)
            if patch is None:
                return await self._refuse(image, f"nobody kept the patch {digest[:12]}")
            if not await self._download(patch):
                return EXCEPTION
            result = await self._apply(image, patch)
            if result != SUCCESS:
                return result
        return SUCCESS

    async def _download(self, patch: PatchRow) -> bool:
        arguments = {
            "maxsize": None,
            "reader": StringFileReader(patch.body),
            "blocksize": BLOCK_BYTES,
            "workdir": "",
            "workerdest": worker_path(patch.digest),
            "mode": 0o600,
        }
        command = RemoteCommand("downloadFile", arguments)
        await self.runCommand(command)
        return not command.didFail()

    async def _apply(self, image: ImageRow, patch: PatchRow) -> int:
        text = patch.body.decode("utf-8", "replace")
        command = await self.makeRemoteShellCommand(
            command=[
                "git",
                "apply",
                "--index",
                "--whitespace=nowarn",
                f"-p{strip_level(text)}",
                f"../{worker_path(patch.digest)}",
            ],
            collectStderr=True,
        )
        await self.runCommand(command)
        if command.rc == 0:
            return SUCCESS
        if self.build.stopped_reason is not None or _builder_is_ill(command.rc, command.stderr):
            return EXCEPTION
        return await self._refuse(
            image, f"{patch.origin} does not apply: {misfit(text, command.stderr)}"
        )

    async def _refuse(self, image: ImageRow, reason: str) -> int:
        farm = farm_of(self.master)
        self.descriptionDone = [reason]
        await farm.store.change_image(image, now=farm.now(), state="untestable", reason=reason)
        return FAILURE


def _builder_is_ill(rc: int | None, complaint: str) -> bool:
    """Whether git failed for a reason that is not the patch's; it then begins with `fatal:`."""
    return rc not in {1, 128} or "fatal:" in complaint


def _skipped(results: int, _step: BuildStep) -> bool:
    return results == SKIPPED
