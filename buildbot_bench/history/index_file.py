"""The file of an index: columns mapped as they lie, and a table of hashes searched by halving.

A damaged file, or one of another release, counts as missing: git can give all of it again.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

# Raise the digit with each change of what the columns mean.
_MAGIC = b"benchix1"
# Magic, kind, the git object that it was read from, number of columns, checksum of what follows.
# In the machine's own order of bytes: for a machine of another order, the checksum is wrong.
_HEADER = struct.Struct("=8s4s20sII")
_LENGTH = struct.Struct("=Q")


def write_columns(path: Path, kind: bytes, key: bytes, columns: Sequence[bytes]) -> None:
    """Put a file in the place of another, at once; OSError when the disk does not take it.

    `kind` has 4 bytes, `key` the 20 of a git hash.
    """
    body = b"".join((*(_LENGTH.pack(len(column)) for column in columns), *columns))
    path.parent.mkdir(exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(_HEADER.pack(_MAGIC, kind, key, len(columns), zlib.crc32(body)))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def read_columns(path: Path, kind: bytes) -> tuple[bytes, tuple[memoryview, ...]] | None:
    """The key and the columns of a file; None when there is none, or none that can be trusted.

    The columns are the file itself: they take memory only where they are read, and stay as they
    are when another file takes its place.
    """
    try:
        with path.open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # mmap refuses an empty file with a ValueError
        return None
    if len(whole) < _HEADER.size:
        return None
    magic, found, key, count, checksum = _HEADER.unpack_from(whole)
    body = whole[_HEADER.size :]
    if (magic, found) != (_MAGIC, kind) or zlib.crc32(body) != checksum:
        return None
    lengths = [_LENGTH.unpack_from(body, i * _LENGTH.size)[0] for i in range(count)]
    columns, start = list[memoryview](), count * _LENGTH.size
    for length in lengths:
        columns.append(body[start : start + length])
        start += length
    return key, tuple(columns)


OID_SIZE = 20
Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class OidTable:
    """Hashes in an order of their own, and the order of their bytes beside it."""

    oids: Buffer
    order: Sequence[int]

    @classmethod
    def of(cls, oids: Buffer) -> OidTable:
        """The table of hashes that stand one after the other."""
        view = memoryview(oids)
        order = sorted(
            range(len(view) // OID_SIZE),
            key=lambda i: bytes(view[i * OID_SIZE : (i + 1) * OID_SIZE]),
        )
        return cls(oids, array("I", order))

    @classmethod
    def stored(cls, oids: memoryview, order: memoryview) -> OidTable:
        """The table of the two columns as `columns` gave them."""
        return cls(oids, order.cast("I"))

    def columns(self) -> tuple[bytes, bytes]:
        """What `stored` takes, for a file."""
        return bytes(self.oids), array("I", self.order).tobytes()

    def __len__(self) -> int:
        return len(self.oids) // OID_SIZE

    def __getitem__(self, index: int) -> bytes:
        return bytes(self.oids[index * OID_SIZE : (index + 1) * OID_SIZE])

    def find(self, oid: bytes) -> int | None:
        """Where a hash stands; None when it does not."""
        place = bisect_left(self.order, oid, key=self.__getitem__)
        if place < len(self.order) and self[self.order[place]] == oid:
            return self.order[place]
        return None
