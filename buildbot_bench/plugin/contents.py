"""What an artefact holds: the kernel's own digest, and what its builder says of it.

An artefact is a kernel, or a tar archive of one with its modules. A patch of anybody may have had
a hand in it: it is read member by member, never unpacked, and what is too large is not read.
"""

from __future__ import annotations

import hashlib
import lzma
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.manifest import MOST_BYTES, NAME, Manifest, parse_manifest
from buildbot_bench.core.neutral import digest_of_files, neutral_digest

# GENERIC with all its modules and their symbols has less than a third of this.
MOST_READ = 1 << 30
_DAMAGED = (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """`kernel_digest`: the SHA-256 that kernels share which differ only in what builds tell."""

    kernel_digest: str
    manifest: Manifest | None = None


def contents(path: Path) -> Contents:
    """Read an artefact; one that cannot be read as a kernel is known by all of its bytes."""
    try:
        return _of_archive(path)
    except _DAMAGED:
        pass
    if path.stat().st_size <= MOST_READ:
        return Contents(kernel_digest=neutral_digest(path.read_bytes()))
    with path.open("rb") as file:
        return Contents(kernel_digest=hashlib.file_digest(file, "sha256").hexdigest())


def _of_archive(path: Path) -> Contents:
    digests: list[tuple[str, str]] = []
    manifest: Manifest | None = None
    left = MOST_READ
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            left -= member.size
            if left < 0:
                raise tarfile.TarError(f"more than {MOST_READ} bytes")
            file = archive.extractfile(member) if member.isreg() else None
            if PurePosixPath(member.name).name == NAME:
                manifest = _manifest(file)
            elif file is not None:
                digests.append((member.name, neutral_digest(file.read())))
            elif not member.isdir():
                digests.append((member.name, member.linkname))
    return Contents(kernel_digest=digest_of_files(digests), manifest=manifest)


def _manifest(file: IO[bytes] | None) -> Manifest | None:
    if file is None:
        return None
    try:
        return parse_manifest(file.read(MOST_BYTES).decode("utf-8", "replace"))
    except UsageError:
        return None
