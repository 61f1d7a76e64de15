"""Fetches the kernels that others built, once a search asks for one."""

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.logger import Logger

from buildbot_bench.archives.contents import contents_apart
from buildbot_bench.archives.prebuilt import PrebuiltSource, check_identity, fetch
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.revision import name_in_repository
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.steps.transfer import keep_built

_LOG = Logger()


class FetchesPrebuilt:
    """Fetches beside the cycles, each image once at a time."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._busy: set[int] = set()

    async def advance(self) -> None:
        """Begin with those that are wanted."""
        for image in await self._farm.store.images(state=ImageState.WANTED):
            if image.is_prebuilt and image.id not in self._busy:
                self._busy.add(image.id)
                Deferred.fromCoroutine(self._fetch(image)).addBoth(self._ended, image)

    def _ended(self, result: object, image: ImageRow) -> None:
        self._busy.discard(image.id)
        if result is not None:
            _LOG.error("bench: fetching {label}: {result}", label=image.label, result=str(result))
        self._farm.wake()

    async def _fetch(self, image: ImageRow) -> None:
        """Make it an artefact, or say why it is none; own builds take its place then."""
        try:
            await self._take(image, self._farm.prebuilt.named())
        except UntestableRevision as error:
            await self._give_up(image, ImageState.UNTESTABLE, str(error))
        except InfraError as error:
            await self._give_up(image, ImageState.FAILED, str(error))

    async def _take(self, image: ImageRow, source: PrebuiltSource) -> None:
        farm, branch = self._farm, name_in_repository(image.branch or "")
        incoming = farm.artefacts.incoming(f"prebuilt-{image.id}")
        try:
            if not await deferToThread(fetch, source, image.sha, branch, incoming):
                raise UntestableRevision(f"{source.place(image.sha, branch)} is not there")
            held = await deferToThread(contents_apart, incoming)
            check_identity(held.version, image.sha, source)
            await keep_built(farm, image, incoming, held)
        finally:
            incoming.unlink(missing_ok=True)

    async def _give_up(self, image: ImageRow, state: ImageState, reason: str) -> None:
        _LOG.warn("bench: {label} is built instead: {reason}", label=image.label, reason=reason)
        await self._farm.unguarded.change(
            image, changed_at=self._farm.now(), state=state, reason=reason
        )
