"""Artefacts, named by their digests, on the master's disk and in a place elsewhere."""

import hashlib
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from twisted.internet.threads import deferToThread

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.files import bring_to_disk


@dataclass(frozen=True, kw_only=True, slots=True)
class Artefact:
    """One kernel archive: its SHA-256 digest in hexadecimal and its size in bytes."""

    digest: str
    size: int


class ArtefactMissingError(InfraError):
    """The place has no such artefact, though the tables say so: it is to be built again."""


class Place(Protocol):
    """Content-addressed: what has a name there never changes, and is there whole or not at all.

    Each method raises InfraError when the place does not answer or refuses.
    """

    async def put(self, file: Path, artefact: Artefact) -> None:
        """Keep the bytes of a file, which stays as it is; to put them again changes nothing."""

    async def get(self, digest: str, file: Path) -> None:
        """Write an artefact into a file; ArtefactMissingError when there is none."""

    async def size(self, digest: str) -> int | None:
        """How many bytes an artefact has there; None when it is not there."""

    async def delete(self, digest: str) -> None:
        """Keep an artefact no longer; nothing happens when it is not there."""


class DiskPlace:
    """A `Place` on a disk: on the master's own, or on one that several masters mount."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, digest: str) -> Path:
        """Where the artefact of this digest lies, or would."""
        return self.root / digest[:2] / digest

    def incoming(self, token: str) -> Path:
        """A file on the same disk that may be written until it is moved to its place."""
        directory = self.root / "incoming"
        directory.mkdir(parents=True, exist_ok=True)
        return directory / token

    def move(self, incoming: Path, digest: str) -> None:
        """Take over a file of `incoming`, in one step; its bytes and its name are on the disk then.

        The tables tell of it afterwards, and may lie on another machine: no power cut is to take
        from here what they say is here.
        """
        bring_to_disk(incoming)
        place = self.path(digest)
        place.parent.mkdir(parents=True, exist_ok=True)
        incoming.replace(place)
        bring_to_disk(place.parent)
        bring_to_disk(self.root)

    async def put(self, file: Path, artefact: Artefact) -> None:
        """Copy the file, and give the copy its name when it is whole."""

        def copy() -> None:
            copied = self.incoming(uuid4().hex)
            try:
                shutil.copyfile(file, copied)
                self.move(copied, artefact.digest)
            finally:
                copied.unlink(missing_ok=True)

        if await self.size(artefact.digest) != artefact.size:
            await deferToThread(copy)

    async def get(self, digest: str, file: Path) -> None:
        """Copy the artefact."""
        try:
            await deferToThread(shutil.copyfile, self.path(digest), file)
        except FileNotFoundError as error:
            raise ArtefactMissingError(f"{self.root} has no artefact {digest[:12]}") from error

    async def size(self, digest: str) -> int | None:
        """The size of the file."""
        try:
            return self.path(digest).stat().st_size
        except FileNotFoundError:
            return None

    async def delete(self, digest: str) -> None:
        """Remove the file."""
        self.path(digest).unlink(missing_ok=True)


# Twisted's PB refuses strings over 640 KiB (spread/banana.py); Buildbot's own default for
# downloads, 16 KiB, makes a round trip of each.
BLOCK_BYTES = 512 * 1024
# How long a copy of what lies elsewhere stays here: the lab boots it soon after it was built.
COPY_KEPT_S = 24 * 3600.0


class Artefacts:
    """What lies in the place that `place` gives, or on the master's disk when it gives None.

    Workers speak to the master alone: of what lies elsewhere copies come to `root`, for a while.
    """

    def __init__(self, root: Path, place: Callable[[], Place | None] = lambda: None) -> None:
        self._disk = DiskPlace(root)
        self._copies = DiskPlace(root / "copies")
        self._place = place

    @property
    def root(self) -> Path:
        """The directory on the master's disk."""
        return self._disk.root

    def incoming(self, token: str) -> Path:
        """Where an upload may write until it is adopted."""
        return self._disk.incoming(token)

    async def look(self, incoming: Path) -> Artefact:
        """What was uploaded, by its bytes."""
        return await deferToThread(_known_by_its_bytes, incoming)

    async def adopt(self, incoming: Path, artefact: Artefact) -> None:
        """Keep an uploaded file under its digest."""
        await deferToThread(self._tidy)
        place = self._place()
        if place is not None:
            await place.put(incoming, artefact)
        keeper = self._disk if place is None else self._copies
        await deferToThread(keeper.move, incoming, artefact.digest)

    async def local(self, digest: str) -> Path:
        """A file with the artefact, on this master's disk."""
        for here in (self._disk, self._copies):
            if await here.size(digest) is not None:
                here.path(digest).touch()  # it is needed: a copy stays for another day
                return here.path(digest)
        place = self._place()
        if place is None:
            raise ArtefactMissingError(f"{self.root} has no artefact {digest[:12]}")
        await self._copy(place, digest)
        return self._copies.path(digest)

    async def delete(self, digest: str) -> None:
        """Keep an artefact no longer, neither here nor elsewhere."""
        if place := self._place():
            await place.delete(digest)
        await self._disk.delete(digest)
        await self._copies.delete(digest)

    async def _copy(self, place: Place, digest: str) -> None:
        await deferToThread(self._tidy)
        incoming = self.incoming(uuid4().hex)
        try:
            await place.get(digest, incoming)
            found = await self.look(incoming)
            if found.digest != digest:
                raise InfraError(
                    f"artefact {digest[:12]} is damaged: its content has another digest"
                )
            await deferToThread(self._copies.move, incoming, digest)
        finally:
            incoming.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Remove old copies, and uploads that nobody adopted: their master or worker died."""
        oldest = time.time() - COPY_KEPT_S
        for file in (*self._copies.root.glob("??/*"), *self.root.glob("incoming/*")):
            with suppress(FileNotFoundError):  # another upload moved it, or tidied before
                if file.stat().st_mtime < oldest:
                    file.unlink()


def _known_by_its_bytes(path: Path) -> Artefact:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Artefact(digest=digest, size=path.stat().st_size)
