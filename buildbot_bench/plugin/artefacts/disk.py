"""Artefacts as files of one directory; it knows no build and no table."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from uuid import uuid4

from twisted.internet.threads import deferToThread

from buildbot_bench.plugin.artefacts.place import Artefact, ArtefactGoneError


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
        """Take over a file of `incoming`, in one step, when its bytes are on the disk."""
        with incoming.open("rb") as file:
            os.fsync(file.fileno())
        place = self.path(digest)
        place.parent.mkdir(parents=True, exist_ok=True)
        incoming.replace(place)

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
            raise ArtefactGoneError(f"{self.root} has no artefact {digest[:12]}") from error

    async def size(self, digest: str) -> int | None:
        """The size of the file."""
        try:
            return self.path(digest).stat().st_size
        except FileNotFoundError:
            return None

    async def delete(self, digest: str) -> None:
        """Remove the file."""
        self.path(digest).unlink(missing_ok=True)
