"""The members of a tar archive, decompressed and counted as they are read, within a budget."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import KERNEL_ARCHIVE, ArchiveBudget, spoken

_BLOCK = 1 << 18
# `xz -9` takes 65 MiB to decompress (its manual); a file that asks for more shall not have it.
_MOST_MEMORY = 1 << 28


class Decompressed(io.RawIOBase):
    """The bytes of a file, decompressed where needed; a seek leads forward only.

    `zeros_from` is where the zeros begin with which ends what was read so far. To read raises
    UntestableRevision beyond `most` bytes, and for damage what the standard library raises:
    OSError, EOFError, lzma.LZMAError or zlib.error.
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
        """Read on to a place."""
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
        """The next bytes, none at the end."""
        if not self._piece:
            self._piece = memoryview(next(self._pieces, b""))
        taken, self._piece = bytes(self._piece[:most]), self._piece[most:]
        if meaning := len(taken.rstrip(b"\0")):
            self.zeros_from = self._at + meaning
        self._at += len(taken)
        if self._at > self._most:
            raise UntestableRevision(f"the artefact unpacks to more than {spoken(self._most)}")
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
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return _of_zstandard(file)
    return iter(partial(file.read, _BLOCK), b"")


def _decompressed(
    file: io.BufferedReader, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[bytes]:
    """One stream after the other, to the end of the file.

    The standard library passes over bytes behind a stream: two files could pass for one.
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


def _of_zstandard(file: io.BufferedReader) -> Iterator[bytes]:
    """The same of what Python reads from 3.14 on by itself."""
    import zstandard  # noqa: PLC0415 - a lab needs none

    new = zstandard.ZstdDecompressor(max_window_size=_MOST_MEMORY)
    try:
        with new.stream_reader(file, read_across_frames=True, closefd=False) as reader:
            yield from iter(partial(reader.read, _BLOCK), b"")
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from error


# What damaged and hostile archives make tarfile raise, besides its own errors.
DAMAGED = (
    *(tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error),
    *(ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One entry of an archive. `content` is read while it is the archive's newest."""

    info: tarfile.TarInfo
    archive: KernelTar

    def content(self) -> bytes | None:
        """Its bytes, at most the budget's; None for what is no file."""
        return self.archive.content(self.info)


class KernelTar:
    """A tar archive that is read once, from its beginning to its end."""

    def __init__(self, decompressed: Decompressed, budget: ArchiveBudget) -> None:
        self._budget = budget
        self._buffered = io.BufferedReader(decompressed)
        self._file = _Metered(self._buffered)
        self._tar: tarfile.TarFile | None = None

    @property
    def offset(self) -> int:
        """Where the next header is looked for."""
        return 0 if self._tar is None else self._tar.offset

    def begins_with_zeros(self) -> bool:
        """Whether nothing else comes first; also of a file without a byte."""
        return not self._buffered.peek().strip(b"\0")

    def __iter__(self) -> Iterator[Member]:
        """All entries."""
        count = 0
        while (info := self._next()) is not None:
            count += 1
            if count > self._budget.members:
                raise UntestableRevision(
                    f"the artefact has more than {self._budget.members} members"
                )
            if info.isreg() and info.size > self._budget.member_bytes:
                raise UntestableRevision(
                    f"{quoted(info.name)} in the artefact has {spoken(info.size)}, and a file may "
                    f"have {spoken(self._budget.member_bytes)}"
                )
            _check_holes(info)
            yield Member(info=info, archive=self)

    def content(self, info: tarfile.TarInfo) -> bytes | None:
        """The bytes of an entry; None for what is no file."""
        if self._tar is None or not info.isreg():
            return None
        # A file with holes may tell another size than it takes.
        self._file.allow(self._budget.member_bytes + self._budget.header_bytes)
        file = self._tar.extractfile(info)
        return b"" if file is None else file.read()

    def _next(self) -> tarfile.TarInfo | None:
        self._file.allow(self._budget.header_bytes)
        if self._tar is None:
            # What tarfile.open promises in its stub is a whole IO[bytes].
            self._tar = tarfile.open(fileobj=self._file, mode="r:")  # type: ignore[call-overload]  # noqa: SIM115
        # The first one is read when the archive is opened, and `next` gives it then.
        return self._tar.next()


def _check_holes(info: tarfile.TarInfo) -> None:
    """Refuse a sparse file whose pieces do not follow one another: tarfile would loop for ever."""
    at = 0
    for offset, size in getattr(info, "sparse", None) or ():
        if offset < at or size < 0:
            raise tarfile.TarError(f"the holes of {quoted(info.name)} overlap")
        at = offset + size
    if at > max(info.size, 0):
        raise tarfile.TarError(f"the holes of {quoted(info.name)} lie behind its end")


@contextmanager
def opened(
    path: Path, budget: ArchiveBudget = KERNEL_ARCHIVE
) -> Iterator[tuple[Decompressed, KernelTar]]:
    """A file and the archive that it may be; damage raises one of `DAMAGED` as it is read."""
    if path.stat().st_size > budget.total_bytes:
        raise UntestableRevision(f"the artefact has more than {spoken(budget.total_bytes)}")
    with path.open("rb") as packed:
        decompressed = Decompressed(packed, most=budget.total_bytes)
        yield decompressed, KernelTar(decompressed, budget)


class _Metered:
    """A file of which no more bytes are read than are allowed."""

    def __init__(self, file: io.BufferedReader[Decompressed]) -> None:
        self._file = file
        self.allow(0)

    def allow(self, count: int) -> None:
        """Let so many bytes be read from now on."""
        self._most = self._left = count

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        self._left -= size
        if self._left < 0:
            raise UntestableRevision(
                f"a header in the artefact asks for more than {spoken(self._most)}"
            )
        return self._file.read(size)

    def seek(self, offset: int) -> int:
        """Pass over what lies before a place."""
        return self._file.seek(offset)

    def seekable(self) -> bool:
        """Forward it is."""
        return True

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()
