"""What an artefact holds: the kernel's own digest, and what its builder says of it.

An artefact is a kernel, or a tar archive of one with its modules. A patch of anybody may have had
a hand in it: it is read member by member, never unpacked, and what is too large is not read. What
is not surely an archive is the file that it is: two files are one kernel only if that is certain.
The standard library's own readers of xz and bzip2 pass over what follows a stream: two files that
differ there would be one, so compressed files are read by a reader of our own.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.core.manifest import MOST_BYTES, NAME, Manifest, parse_manifest
from buildbot_bench.core.neutral import digest_of_files, neutral_digest

# GENERIC with all its modules and their symbols has less than a third of this.
MOST_READ = 1 << 30
# GENERIC has about 900 modules, and as many files with their symbols.
MOST_MEMBERS = 20_000
# POSIX's pax: two blocks of zeros end an archive.
_END_BYTES = 2 * tarfile.BLOCKSIZE
# What damaged and hostile archives make tarfile raise, besides its own errors.
_DAMAGED = (
    *(tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error),
    *(ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """`kernel_digest`: the SHA-256 that kernels share which differ only in what builds tell."""

    kernel_digest: str
    manifest: Manifest | None = None


def contents(path: Path) -> Contents:
    """Read an artefact; one that cannot be read as a kernel is known by all of its bytes.

    Raises UntestableRevision for what is surely no kernel: an archive without one, or nothing but
    zeros, which is what an empty archive consists of.
    """
    try:
        return _of_archive(path)
    except _DAMAGED:
        pass
    if path.stat().st_size <= MOST_READ:
        return Contents(kernel_digest=neutral_digest(path.read_bytes()))
    with path.open("rb") as file:
        return Contents(kernel_digest=hashlib.file_digest(file, "sha256").hexdigest())


def _of_archive(path: Path) -> Contents:
    digests: dict[PurePosixPath, tuple[str, str]] = {}
    manifest: Manifest | None = None
    has_file = False
    with path.open("rb") as packed:
        for member, file in _members(Decompressed(packed, most=MOST_READ)):
            name = PurePosixPath(member.name)
            if name.name == NAME:
                manifest = _manifest(file)
            elif name in digests or "\n" in member.name or len(digests) >= MOST_MEMBERS:
                raise tarfile.TarError(f"{member.name[:80]!r} is no member of a kernel's archive")
            elif not member.isdir():
                digest = _of_link(member) if file is None else neutral_digest(file.read())
                digests[name] = (member.name, digest)
                has_file |= file is not None
    if not has_file:
        raise UntestableRevision("the artefact is an archive without a kernel")
    if sum(name.name == "kernel" for name in digests) > 1:
        raise tarfile.TarError("which of several kernels is booted depends on their order")
    return Contents(kernel_digest=digest_of_files(digests.values()), manifest=manifest)


def _members(decompressed: Decompressed) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """The members of an archive, each with its file if it is one.

    tarfile takes for the end whatever is no header.

    Raises:
        UntestableRevision: The archive holds nothing but zeros, as an empty one does.
        TarError: It begins with zeros, or does not end as an archive does.
    """
    file = io.BufferedReader(decompressed)
    if not file.peek().strip(b"\0"):
        decompressed.drain()
        if decompressed.zeros_from == 0:
            raise UntestableRevision("the artefact holds nothing but zeros")
        raise tarfile.TarError("it begins with zeros")
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for member in archive:
            yield member, archive.extractfile(member) if member.isreg() else None
        if (
            decompressed.drain() < archive.offset + _END_BYTES
            or decompressed.zeros_from > archive.offset
        ):
            raise tarfile.TarError("it does not end as an archive does")


def _of_link(member: tarfile.TarInfo) -> str:
    """What stands for a link in the place of a digest.

    Raises:
        TarError: The member is neither a file nor a link.
    """
    if not (member.issym() or member.islnk()):
        raise tarfile.TarError(f"{member.name[:80]!r} is no file")
    target = member.linkname.encode("utf-8", "surrogateescape")
    return f"link {hashlib.sha256(member.type + target).hexdigest()}"


def _manifest(file: IO[bytes] | None) -> Manifest | None:
    if file is None:
        return None
    try:
        return parse_manifest(file.read(MOST_BYTES).decode("utf-8", "replace"))
    except UsageError:
        return None


_BLOCK = 1 << 18
# `xz -9` takes 65 MiB to decompress (its manual); a file that asks for more shall not have it.
_MOST_MEMORY = 1 << 28


class Decompressed(io.RawIOBase):
    """The bytes of a file, decompressed if need be; a seek leads forward only.

    `zeros_from` is where the zeros begin with which ends what was read so far. To read raises
    OSError beyond `most` bytes, and for damage what the standard library raises: OSError, EOFError,
    lzma.LZMAError or zlib.error.
    """

    def __init__(self, file: io.BufferedReader, *, most: int) -> None:
        self._pieces = _pieces(file)
        self._piece = memoryview(b"")
        self._most = most
        self._at = 0
        self.zeros_from = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """Forward it is."""
        return True

    def tell(self) -> int:
        """How many bytes were read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read on to a place.

        Raises:
            UnsupportedOperation: The place lies behind.
        """
        if whence != io.SEEK_SET or offset < self._at:
            raise io.UnsupportedOperation("this file is read forward only")
        while self._at < offset and self._next(offset - self._at):
            pass
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as is easy; 0 at the end."""
        taken = self._next(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)

    def drain(self) -> int:
        """Read all that is left; returns the number of all bytes."""
        while self._next(_BLOCK):
            pass
        return self._at

    def _next(self, most: int) -> bytes:
        if not self._piece:
            self._piece = memoryview(next(self._pieces, b""))
        taken, self._piece = bytes(self._piece[:most]), self._piece[most:]
        if meaning := len(taken.rstrip(b"\0")):
            self.zeros_from = self._at + meaning
        self._at += len(taken)
        if self._at > self._most:
            raise OSError(f"the file holds more than {self._most} bytes")
        return taken


def _pieces(file: io.BufferedReader) -> Iterator[bytes]:
    magic = file.peek(6)
    if magic.startswith(b"\x1f\x8b\x08"):
        # This one refuses what follows, but for zeros.
        return iter(partial(gzip.GzipFile(fileobj=file).read, _BLOCK), b"")
    if magic.startswith(b"BZh"):
        return _decompressed(file, bz2.BZ2Decompressor)
    if magic.startswith((b"\xfd7zXZ", b"\x5d\x00\x00\x80")):
        return _decompressed(file, partial(lzma.LZMADecompressor, memlimit=_MOST_MEMORY))
    return iter(partial(file.read, _BLOCK), b"")


def _decompressed(
    file: io.BufferedReader, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[bytes]:
    """One stream after the other, to the end of the file.

    Raises:
        EOFError: The file ends within a stream.
    """
    stream = new()
    while True:
        data = b""
        if stream.eof:
            data = stream.unused_data or file.read(_BLOCK)
            if not data:
                return
            stream = new()
        elif stream.needs_input:
            data = file.read(_BLOCK)
            if not data:
                raise EOFError("the compressed stream is cut short")
        if piece := stream.decompress(data, _BLOCK):
            yield piece
