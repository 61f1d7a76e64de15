"""The kernel's way from the builder worker into the master's artefacts."""

from __future__ import annotations

from dataclasses import asdict

from buildbot.process.results import FAILURE, SUCCESS
from buildbot.steps.transfer import FileUpload
from twisted.internet.threads import deferToThread

from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.plugin.artefacts import BLOCK_BYTES
from buildbot_bench.plugin.contents import contents
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.steps.restartable import Restartable
from buildbot_bench.plugin.steps.rows import image_of


class Upload(Restartable, FileUpload):
    """Uploads the file that the job made and records the image as built."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            name="upload-artefact",
            workersrc=path,
            masterdest="",
            blocksize=BLOCK_BYTES,
            haltOnFailure=True,
        )

    async def work(self) -> int:
        """Upload, take the digest, and tell the tables."""
        farm = farm_of(self.master)
        incoming = farm.artefacts.incoming(f"build-{self.build.buildid}")
        self.masterdest = str(incoming)
        results: int = await super().work()
        image = await image_of(self)
        if results != SUCCESS:
            if results == FAILURE and self.build.stopped_reason is None:
                await self._is_untestable(farm, image, f"the build made no {self.workersrc}")
            return results
        try:
            held = await deferToThread(contents, incoming)
        except UntestableRevision as error:
            incoming.unlink()
            await self._is_untestable(farm, image, f"{self.workersrc} is no kernel: {error}")
            return FAILURE
        artefact = await farm.artefacts.look(incoming)
        await farm.store.keep_artefact(digest=artefact.digest, size=artefact.size, now=farm.now())
        await farm.artefacts.adopt(incoming, artefact)
        build = await self.master.data.get(("builds", self.build.buildid))
        await farm.store.change_image(
            image,
            now=farm.now(),
            state="built",
            digest=artefact.digest,
            size=artefact.size,
            kernel_digest=held.kernel_digest,
            manifest=asdict(held.manifest) if held.manifest else None,
            build_s=farm.now() - build["started_at"].timestamp(),
        )
        self.descriptionDone = [f"sha256 {artefact.digest[:12]}"]
        return SUCCESS

    async def _is_untestable(self, farm: Farm, image: ImageRow, reason: str) -> None:
        self.descriptionDone = [reason]
        await farm.store.change_image(image, now=farm.now(), state="untestable", reason=reason)
