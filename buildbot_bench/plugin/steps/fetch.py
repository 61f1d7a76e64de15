"""The kernel's way from the master's artefacts to the lab worker."""

from __future__ import annotations

import stat

from buildbot.process.buildstep import BuildStep
from buildbot.process.remotecommand import RemoteCommand
from buildbot.process.results import EXCEPTION, SUCCESS
from buildbot.steps.transfer import FileDownload

from buildbot_bench.plugin.artefacts import BLOCK_BYTES, ArtefactGoneError
from buildbot_bench.plugin.farm import farm_of
from buildbot_bench.plugin.steps.restartable import Restartable
from buildbot_bench.plugin.steps.rows import image_of

# The worker's own directory, seen from that of each of its builders. The commands of the lab run
# there: it holds testbeds.toml, and the jobs and locks that all builders of a lab share.
WORKER_DIRECTORY = ".."


def kept_at(digest: str) -> str:
    """Where a lab worker keeps an artefact, relative to the worker's directory."""
    return f"artefacts/{digest}"


def worker_path(digest: str) -> str:
    """The same, relative to its builder's directory."""
    return f"{WORKER_DIRECTORY}/{kept_at(digest)}"


class Fetch(Restartable, FileDownload):
    """Downloads the image's artefact unless the worker has it already, whole."""

    def __init__(self) -> None:
        super().__init__(
            name="fetch-artefact",
            mastersrc="",
            workerdest="",
            workdir="",
            blocksize=BLOCK_BYTES,
            mode=0o600,
            haltOnFailure=True,
        )

    async def work(self) -> int:
        """Compare sizes, download if they differ; the lab checks the digest before it boots."""
        farm = farm_of(self.master)
        image = await image_of(self)
        digest = image.digest or ""
        self.workerdest = worker_path(digest)
        if await _size_on_worker(self, self.workerdest) == image.size:
            self.descriptionDone = ["the worker has it"]
            return SUCCESS
        try:
            self.mastersrc = str(await farm.artefacts.local(digest))
        except ArtefactGoneError as gone:
            # The broker asks for the image again, and for this when it is built.
            await farm.store.release_artefact(digest)
            self.descriptionDone = [str(gone)]
            return EXCEPTION
        results: int = await super().work()
        return results


async def _size_on_worker(step: BuildStep, path: str) -> int | None:
    command = RemoteCommand("stat", {"file": f"{step.getProperty('builddir')}/{path}"})
    await step.runCommand(command)
    if command.didFail():
        return None
    return int(command.updates["stat"][-1][stat.ST_SIZE])
