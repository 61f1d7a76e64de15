"""What a place for artefacts must be able to do; it knows none of them.

What lies in a place is known from the tables, so a place need not list it: any server that takes
PUT, GET, HEAD and DELETE will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from buildbot_bench.core.errors import InfraError


@dataclass(frozen=True, kw_only=True, slots=True)
class Artefact:
    """One kernel archive: its SHA-256 digest in hexadecimal and its size in bytes."""

    digest: str
    size: int


class ArtefactGoneError(InfraError):
    """The place has no such artefact, though the tables say so: it is to be built again."""


class Place(Protocol):
    """Content-addressed: what has a name there never changes, and is there whole or not at all.

    Each method raises InfraError when the place does not answer or refuses.
    """

    async def put(self, file: Path, artefact: Artefact) -> None:
        """Keep the bytes of a file, which stays as it is; to put them again changes nothing."""

    async def get(self, digest: str, file: Path) -> None:
        """Write an artefact into a file; ArtefactGoneError when there is none."""

    async def size(self, digest: str) -> int | None:
        """How many bytes an artefact has there; None when it is not there."""

    async def delete(self, digest: str) -> None:
        """Keep an artefact no longer; nothing happens when it is not there."""
