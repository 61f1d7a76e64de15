"""The kind of file that an artefact is, by its first bytes."""

import struct
from enum import StrEnum
from pathlib import Path

_ELF = b"\x7fELF"
_AMD64_ELF = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_AMD64_PROGRAM = struct.pack("<HH", 2, 62)  # its type and machine
ABI_AT, FREEBSD_ABI = 7, b"\x09"  # EI_OSABI and ELFOSABI_FREEBSD
_INTERPRETER = b"/red/herring"  # what FreeBSD's kernels name, so that nobody starts them
_PVH_NOTE = b"Xen\0"
_MULTIBOOT = struct.pack("<I", 0x1BADB002)  # the magic number of Multiboot 1
_MULTIBOOT_WITHIN = 8192  # bytes from the file's start, by its specification
_PACKED = (b"\xfd7zXZ\0", b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd")
_TAR_AT, _TAR = 257, b"ustar"  # bytes; POSIX ustar


class FileKind(StrEnum):
    """The kinds that matter here, in words."""

    ARCHIVE = "a packed archive"
    FREEBSD = "a FreeBSD kernel for amd64"
    FOREIGN = "a FreeBSD kernel for another processor"
    MULTIBOOT = "a Multiboot program"
    PVH = "a kernel that QEMU boots by its PVH note"
    AMD64 = "an ELF file for amd64"
    ELF = "an ELF file"
    OTHER = "a file of another kind"


def kind_of(path: Path) -> FileKind:
    """Which kind of file that is; OSError when it cannot be read."""
    with path.open("rb") as file:
        head = file.read(_MULTIBOOT_WITHIN)
        if head.startswith(_PACKED) or head[_TAR_AT:].startswith(_TAR):
            return FileKind.ARCHIVE
        if not head.startswith(_ELF):
            return FileKind.OTHER
        amd64 = head.startswith(_AMD64_ELF) and head[16:20] == _AMD64_PROGRAM
        if head[ABI_AT : ABI_AT + 1] == FREEBSD_ABI or _INTERPRETER in head:
            return FileKind.FREEBSD if amd64 else FileKind.FOREIGN
        if _MULTIBOOT in head and not amd64:
            return FileKind.MULTIBOOT
        if _PVH_NOTE in head + file.read():
            return FileKind.PVH
    return FileKind.AMD64 if amd64 else FileKind.ELF
