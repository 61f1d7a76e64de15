"""The steps that carry a kernel from a builder to the artefacts and on to a lab worker."""

import stat
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.remotecommand import RemoteCommand, RemoteShellCommand
from buildbot.process.results import EXCEPTION, FAILURE, SKIPPED, SUCCESS
from buildbot.steps.transfer import FileDownload, FileUpload
from buildbot.util.twisted import async_to_deferred
from twisted.internet.threads import deferToThread

from buildbot_bench.archives.contents import Contents, contents_apart
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.limits import KERNEL_ARCHIVE, ArchiveBudget, spoken
from buildbot_bench.core.read_files import MOST_BYTES, SUFFIX, parse_read_files
from buildbot_bench.plugin.artefacts.place import BLOCK_BYTES, Artefact, ArtefactMissingError
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, ProfileRow
from buildbot_bench.plugin.farm import Farm, farm_of

Row = TypeVar("Row", ImageRow, ProbeRow, ProfileRow)
_HINT = "do not force these builders: ask with bench-bisect"


async def image_of(step: Any) -> ImageRow:
    """The image that the build is about."""
    return await _row_of(step, "image", farm_of(step.master).store.image)


async def probe_of(step: Any) -> ProbeRow:
    """The probe that the build is about."""
    return await _row_of(step, "probe", farm_of(step.master).store.probe)


async def profile_of(step: Any) -> ProfileRow:
    """The capture that the build is to take."""
    return await _row_of(step, "profile", farm_of(step.master).store.profile)


async def _row_of(step: Any, what: str, find: Callable[[int], Awaitable[Row | None]]) -> Row:
    row = await find(step.getProperty(f"bench_{what}") or 0)
    if row is None:
        raise InfraError(f"this build has no {what} of the farm's tables", hint=_HINT)
    return row


async def untestable(step: Any, image: ImageRow, reason: str) -> int:
    """Say of an image that its revision is at fault; how the step ends."""
    farm = farm_of(step.master)
    step.descriptionDone = [reason]
    await farm.change(image, state=ImageState.UNTESTABLE, reason=reason)
    return FAILURE


def skipped(results: int, _step: BuildStep) -> bool:
    """Whether a step had nothing to do."""
    return results == SKIPPED


class ShellStep(ShellMixin, BuildStep):
    """A step that runs commands; a failure ends the build."""

    def __init__(self, **settings: Any) -> None:
        rest = self.setupShellMixin({"command": [], "logEnviron": False} | settings)
        super().__init__(haltOnFailure=True, **rest)


# The worker's own directory, seen from that of each of its builders. The commands of the lab run
# there: it holds testbeds.toml, and the jobs and locks that all builders of a lab share.
WORKER_DIRECTORY = ".."


def kept_at(digest: str) -> str:
    """Where a lab worker keeps an artefact, relative to the worker's directory."""
    return f"artefacts/{digest}"


def worker_path(digest: str) -> str:
    """The same, relative to its builder's directory."""
    return f"{WORKER_DIRECTORY}/{kept_at(digest)}"


class Fetch(FileDownload):
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

    @async_to_deferred
    async def run(self) -> int:
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
        except ArtefactMissingError as removal_reason:
            # The broker asks for the image again, and for this when it is built.
            await farm.store.release_artefact(digest)
            self.descriptionDone = [str(removal_reason)]
            return EXCEPTION
        results: int = await super().run()
        return results


async def _size_on_worker(step: BuildStep, path: str) -> int | None:
    command = RemoteCommand("stat", {"file": f"{step.getProperty('builddir')}/{path}"})
    await step.runCommand(command)
    if command.didFail():
        return None
    return int(command.updates["stat"][-1][stat.ST_SIZE])


async def _link_on_worker(step: BuildStep, path: str) -> str | None:
    """The symbolic link that a path of the source tree goes by: "" for none, None if nobody knows.

    A worker follows links when it uploads, and a patch can make one to all that its builder reads.
    """
    whole = PurePosixPath(path)
    ways = [whole] if whole.is_absolute() else [whole, *whole.parents[:-1]]
    # What begins with a dot or a slash is no option of find(1).
    words = [str(way) if way.is_absolute() else f"./{way}" for way in ways]
    command = RemoteShellCommand(
        workdir=f"{step.getProperty('builddir')}/{step.workdir}",
        command=["find", *words, "-prune", "-type", "l"],
        logEnviron=False,
        collectStdout=True,
        want_stderr=False,
    )
    await step.runCommand(command)
    if command.rc not in {0, 1}:  # 1: a path is not there
        return None
    return next(iter(command.stdout.splitlines()), "").removeprefix("./")


def _is_a_link(path: str) -> str:
    return f"{path} is a symbolic link, which is not followed: upload the file itself"


class KeepReadFiles(FileUpload):
    """Keeps the list of the files that the build read, if the job left one beside its kernel.

    `job` tells the jobs apart: another one may read other files. What is wrong with the list fails
    no build: nothing is known then.
    """

    def __init__(self, *, path: str, job: str) -> None:
        super().__init__(
            name="keep-read-files",
            workersrc=f"{path}{SUFFIX}",
            masterdest="",
            maxsize=MOST_BYTES,
            blocksize=BLOCK_BYTES,
            hideStepIf=skipped,
            haltOnFailure=False,
            flunkOnFailure=False,
            warnOnFailure=True,
        )
        self._job = job

    @async_to_deferred
    async def run(self) -> int:
        """Upload the list, read it, and tell the tables; also that there is none."""
        farm = farm_of(self.master)
        image = await image_of(self)
        results, body = SKIPPED, b""
        if await _size_on_worker(self, f"{self.workdir}/{self.workersrc}") is not None:
            results, body = await self._unless_linked(farm)
        digest = await farm.store.keep_read_files(body) if body else None
        await farm.change(image, read_files=digest, built_by=self._job)
        return results

    async def _unless_linked(self, farm: Farm) -> tuple[int, bytes]:
        if (link := await _link_on_worker(self, self.workersrc)) == "":
            return await self._uploaded(farm)
        if link is not None:
            self.descriptionDone = [_is_a_link(link)]
        return FAILURE, b""

    async def _uploaded(self, farm: Farm) -> tuple[int, bytes]:
        """The list, empty when it cannot be used, and how the upload went."""
        incoming = farm.artefacts.incoming(f"read-files-{self.build.buildid}")
        self.masterdest = str(incoming)
        try:
            results: int = await super().run()
            if results != SUCCESS:
                return results, b""
            body = incoming.read_bytes()
            read = await deferToThread(parse_read_files, body)
        except UsageError as error:
            self.descriptionDone = [error.message]
            return FAILURE, b""
        finally:
            incoming.unlink(missing_ok=True)
        self.descriptionDone = [f"{len(read.names)} names"]
        return SUCCESS, body


async def keep_built(
    farm: Farm, image: ImageRow, incoming: Path, held: Contents, *, began_s: float | None = None
) -> Artefact:
    """Keep a file with what it holds as the artefact of an image, which is built now."""
    store, size = farm.unguarded, held.kernel
    artefact = await farm.artefacts.look(incoming)
    await store.keep_artefact(digest=artefact.digest, size=artefact.size, now=farm.now())
    await farm.artefacts.adopt(incoming, artefact)
    await farm.change(
        image,
        state=ImageState.BUILT,
        digest=artefact.digest,
        size=artefact.size,
        kernel_digest=held.kernel_digest,
        manifest=asdict(held.manifest) if held.manifest else None,
        build_s=None if began_s is None else farm.now() - began_s,
        text_bytes=size.text if size else None,
        data_bytes=size.data if size else None,
        bss_bytes=size.bss if size else None,
        modules=held.modules or None,
    )
    return artefact


class Upload(FileUpload):
    """Uploads the file that the job made and records the image as built."""

    def __init__(self, *, path: str, budget: ArchiveBudget = KERNEL_ARCHIVE) -> None:
        super().__init__(
            name="upload-artefact",
            workersrc=path,
            masterdest="",
            maxsize=budget.total_bytes,
            blocksize=BLOCK_BYTES,
            haltOnFailure=True,
        )
        self._budget = budget

    @async_to_deferred
    async def run(self) -> int:
        """Upload, take the digest, and tell the tables."""
        farm = farm_of(self.master)
        incoming = farm.artefacts.incoming(f"build-{self.build.buildid}")
        self.masterdest = str(incoming)
        image = await image_of(self)
        link = await _link_on_worker(self, self.workersrc)
        if link is None:
            return EXCEPTION
        if link:
            return await untestable(self, image, _is_a_link(link))
        results: int = await super().run()
        if results != SUCCESS:
            if results == FAILURE and self.build.stopped_reason is None:
                size = await _size_on_worker(self, f"{self.workdir}/{self.workersrc}")
                most = self._budget.total_bytes
                too_large = f"{self.workersrc} has more than {spoken(most)}"
                missing = f"the build made no {self.workersrc}"
                reason = too_large if (size or 0) > most else missing
                return await untestable(self, image, reason)
            return results
        build = await self.master.data.get(("builds", self.build.buildid))
        try:
            held = await deferToThread(contents_apart, incoming, self._budget)
        except UntestableRevision as error:
            incoming.unlink()
            return await untestable(self, image, f"{self.workersrc} is no kernel: {error}")
        began_s = build["started_at"].timestamp()
        artefact = await keep_built(farm, image, incoming, held, began_s=began_s)
        self.descriptionDone = [f"sha256 {artefact.digest[:12]}"]
        return SUCCESS
