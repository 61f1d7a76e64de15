"""A GPT with FreeBSD's boot blocks and one partition, of UEFI's specification 2.10, chapter 5."""

import struct
import uuid
import zlib
from pathlib import Path
from typing import BinaryIO

from buildbot_bench.core.errors import InfraError

SECTOR = 512  # bytes
_BOOT_AT, ROOT_AT = 40, 2048  # sectors
# sys/sys/disk/gpt.h of FreeBSD.
_BOOT_TYPE = uuid.UUID("83bd6b9d-7f41-11dc-be0b-001560b84f0f")
_ROOT_TYPE = uuid.UUID("516e7cb6-6ecf-11d6-8ff8-00022d09712b")
_ENTRIES, _ENTRY_SIZE = 128, 128
_TABLE = _ENTRIES * _ENTRY_SIZE // SECTOR  # sectors
_HEADER = struct.Struct("<8s4sIIIQQQQ16sQIII")
_ENTRY = struct.Struct("<16s16sQQQ72s")
_LARGEST_BOOT = 545 * 1024  # bytes: gpart(8)
_CHUNK = 1 << 20  # bytes
_CODE = 440  # bytes of boot code in a master boot record


def write_gpt(disk: Path, root: Path, *, pmbr: Path, boot: Path) -> None:
    """Write a disk of the file system `root` and the loader's first stages `pmbr` and `boot`."""
    code, size = boot.read_bytes(), root.stat().st_size
    if not 0 < len(code) <= _LARGEST_BOOT or size % SECTOR:
        raise InfraError(f"{boot} or {root} is no part of a disk: of a wrong size")
    root_end = ROOT_AT + size // SECTOR
    last = root_end + _TABLE  # the sector of the second header, behind its table
    table = b"".join(
        _ENTRY.pack(kind.bytes_le, _id(name), start, end - 1, 0, name.encode("utf-16-le"))
        for kind, name, start, end in (
            # pmbr loads the whole partition, which must fit below 640 KiB.
            (_BOOT_TYPE, "bootfs", _BOOT_AT, _BOOT_AT + -(-len(code) // SECTOR)),
            (_ROOT_TYPE, "rootfs", ROOT_AT, root_end),
        )
    ).ljust(_TABLE * SECTOR, b"\0")
    protective = struct.pack("<8B2I", 0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, last)
    with disk.open("wb") as file:
        file.write(pmbr.read_bytes()[:_CODE].ljust(446, b"\0") + protective.ljust(64, b"\0"))
        file.write(b"\x55\xaa" + _header(table, at=1, other=last, table_at=2) + table)
        file.seek(_BOOT_AT * SECTOR)
        file.write(code)
        file.seek(ROOT_AT * SECTOR)
        with root.open("rb") as content:
            copy_sparsely(content, file)
        file.write(table + _header(table, at=last, other=1, table_at=root_end))


def copy_sparsely(source: BinaryIO, target: BinaryIO) -> None:
    """Copy a file to its end, leaving holes where it has nothing but zeros."""
    zeros = bytes(_CHUNK)
    while chunk := source.read(_CHUNK):
        if chunk == zeros:
            target.seek(_CHUNK, 1)
        else:
            target.write(chunk)


def _header(table: bytes, *, at: int, other: int, table_at: int) -> bytes:
    """The sector of a header; the last usable sector lies before the second table."""
    usable = (2 + _TABLE, max(at, other) - _TABLE - 1)

    def packed(checksum: int) -> bytes:
        head = (b"EFI PART", b"\0\0\1\0", _HEADER.size, checksum, 0, at, other, *usable)
        tail = (_id("disk"), table_at, _ENTRIES, _ENTRY_SIZE, zlib.crc32(table))
        return _HEADER.pack(*head, *tail)

    return packed(zlib.crc32(packed(0))).ljust(SECTOR, b"\0")


def _id(name: str) -> bytes:
    """A unique identifier that is the same for each disk of ours, which never meet on a machine."""
    return uuid.uuid5(_ROOT_TYPE, name).bytes_le
