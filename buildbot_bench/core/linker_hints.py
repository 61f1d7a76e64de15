"""A FreeBSD kernel's index of modules, `linker.hints`, made from the modules' bytes.

kldxref(8) writes it where FreeBSD builds itself; elsewhere that program is not built. It is version
1 of the format of sys/linker.h, with which file declares a module and its versions, for relocatable
files of 64 bits; devmatch(8)'s part is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

from buildbot_bench.core.elf import Section, sections

NAME = "linker.hints"
_FORMAT = 1
_MODULE, _VERSION = 2, 3  # kinds of metadata: MDT_MODULE, MDT_VERSION of sys/module.h
_SET = b"set_modmetadata_set"
_METADATA = struct.Struct("<iiQQ")  # struct mod_metadata: its version, kind, data, name
_RELOCATABLE = (2, 1, 1)  # of ELF's header: 64 bits, little endian, ET_REL
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_POINTER = 8
_LONGEST = 255  # characters of a name; a byte says how many

_Place = tuple[int, int]  # a section's number, and where in it


def linker_hints(modules: Mapping[str, bytes]) -> bytes:
    """The index for modules by the names of their files; empty when none of them declares one."""
    records = [record for name in sorted(modules) for record in _records(name, modules[name])]
    if not records:
        return b""
    sized = (struct.pack("<i", len(record)) + record for record in records)
    return struct.pack("<i", _FORMAT) + b"".join(sized)


def _records(file: str, data: bytes) -> list[bytes]:
    """The records of one module, the declaration first: it begins what belongs to a file."""
    try:
        found = sorted(set(_declared(data)))
    except (struct.error, IndexError, KeyError):
        return []
    records = []
    for kind, name, version in found:
        if 0 < len(name) <= _LONGEST:
            record = struct.pack("<i", kind) + _text(name)
            if kind == _VERSION:
                record = _aligned(record) + struct.pack("<i", version)
            records.append(_aligned(record + _text(file.encode())))
    return records


def _declared(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Kind, name and version of each declaration that a kernel looks up; version 0 of a module."""
    found = sections(data)
    if not found or (data[4], data[5], data[16]) != _RELOCATABLE:
        return
    pointers = dict(_pointers(data, found))
    sets = [number for number, section in enumerate(found) if section.name == _SET]
    for number in sets:
        for offset in range(0, found[number].size, _POINTER):
            section, start = pointers[number, offset]
            _, kind, _, _ = _METADATA.unpack_from(data, found[section].offset + start)
            if kind in {_MODULE, _VERSION}:
                name = _string(data, found, pointers[section, start + 16])
                of, at = pointers[section, start + 8]
                (version,) = struct.unpack_from("<i", data, found[of].offset + at)
                yield kind, name, version if kind == _VERSION else 0


def _pointers(data: bytes, found: Sequence[Section]) -> Iterator[tuple[_Place, _Place]]:
    """Where each pointer is, and where it will lead to when the module is loaded."""
    table = b"".join(data[section.span] for section in found if section.name == b".symtab")
    places = [
        (section, value)
        for _, _, _, section, value, _ in _SYMBOL.iter_unpack(table[: len(table) // 24 * 24])
    ]
    numbers = {section.name: number for number, section in enumerate(found)}
    for section in found:
        if section.name.startswith(b".rela") and section.name[5:] in numbers:
            number = numbers[section.name[5:]]
            entries = data[section.span]
            for offset, info, addend in _RELOCATION.iter_unpack(entries[: len(entries) // 24 * 24]):
                to, value = places[info >> 32]
                if to < len(found):
                    yield (number, offset), (to, value + addend)


def _string(data: bytes, found: Sequence[Section], place: _Place) -> bytes:
    start = found[place[0]].offset + place[1]
    end = data.find(b"\0", start, start + _LONGEST + 1)
    return data[start : max(end, start)]


def _text(text: bytes) -> bytes:
    """A byte for the length, and the characters."""
    return struct.pack("B", min(len(text), _LONGEST)) + text[:_LONGEST]


def _aligned(record: bytes) -> bytes:
    """Padded to where an integer may begin."""
    return record + bytes(-len(record) % 4)
