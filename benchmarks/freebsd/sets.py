"""The linker sets of a kernel, and the relocations of its modules, in an archive."""

import struct
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from buildbot_bench.core.elf import Section, sections
from buildbot_bench.core.errors import UsageError

_SYMBOL = struct.Struct("<IBBHQQ")  # of 64 bits: name, info, other, section, value, size
_RELOCATION = struct.Struct("<QQq")
_AMD64 = b"\x3e\0"
_BY_TABLE = frozenset({9, 41, 42})  # R_X86_64_GOTPCREL, …_GOTPCRELX, …_REX_GOTPCRELX
_POINTER = 8


def linker_sets(archive: Path) -> Mapping[bytes, Sequence[bytes]]:
    """Each `set_*` of the kernel in an archive, as the names of its entries, in their order."""
    with tarfile.open(archive) as packed:
        file = packed.extractfile("kernel")
        if file is None:
            raise UsageError(f"{archive} has no kernel")
        data = file.read()
    found = sections(data)
    names = _names(data, {section.name: section for section in found})
    return {
        section.name: _entries(data, section, names)
        for section in found
        if section.name.startswith(b"set_") and section.size % _POINTER == 0
    }


def unlinkable(archive: Path) -> Sequence[str]:
    """The modules for amd64 with a relocation by the GOT, which a kernel does not have for them."""
    found = []
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.name.endswith(".ko") else None
            data = file.read() if file else b""
            if data[18:20] == _AMD64 and any(_by_table(data)):
                found.append(member.name)
    return found


def _by_table(data: bytes) -> Iterator[bool]:
    for section in sections(data):
        if section.name.startswith(b".rela") and section.size % _RELOCATION.size == 0:
            for _, info, _ in _RELOCATION.iter_unpack(data[section.span]):
                yield info & 0xFFFFFFFF in _BY_TABLE


def _entries(data: bytes, section: Section, names: Mapping[int, bytes]) -> list[bytes]:
    addresses = struct.unpack_from(f"<{section.size // _POINTER}Q", data, section.offset)
    return [names.get(address, b"?") for address in addresses]


def _names(data: bytes, by_name: Mapping[bytes, Section]) -> dict[int, bytes]:
    symbols, strings = by_name[b".symtab"], by_name[b".strtab"]
    found: dict[int, bytes] = {}
    table = data[symbols.span]
    for name, _, _, _, value, _ in _SYMBOL.iter_unpack(table[: len(table) // 24 * 24]):
        if name:
            start = strings.offset + name
            found.setdefault(value, data[start : data.index(b"\0", start)])
    return found
