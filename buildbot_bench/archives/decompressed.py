"""The bytes of a file, decompressed and counted as they are read.

The standard library's readers of xz and bzip2 skip bytes behind a stream, so that two different
files could pass for one; the readers here are our own and read to the end.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.limits import spoken

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
    return iter(partial(file.read, _BLOCK), b"")


def _decompressed(
    file: io.BufferedReader, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[bytes]:
    """One stream after the other, to the end of the file."""
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
