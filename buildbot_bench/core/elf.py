"""Sections of an ELF file, and the index of a FreeBSD kernel's modules made from them."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAGIC = b"\x7fELF"
_SYMBOLS, NOTES, NOBITS = 2, 7, 8  # kinds of sections; the last takes no room in the file
NO_TYPE, FUNCTION, _FILE = 0, 2, 4  # kinds of symbols
WRITABLE, ALLOCATED, EXECUTABLE = 1, 2, 4  # flags: written to, in memory when it runs; instructions

_LONGEST_NAME = 256  # bytes; a longer one is empty
_MOST_CLAIMED = 2  # times the file's size
_MOST_BYTES = 1 << 53  # what JSON's readers count exactly; no kernel has a thousandth of it
# Where the header has e_shoff, e_shentsize, e_shnum and e_shstrndx; and a section's header: name,
# type, flags, address, offset, size, link. For 32 bits and for 64.
_HEADER = {1: (32, "I", 46, "7I"), 2: (40, "Q", 58, "2I4QI")}
_ORDER = {1: "<", 2: ">"}
_SYMBOL = {1: "IIIBBH", 2: "IBBHQQ"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One section: `flags` as above, `offset` and `size` in bytes of the file.

    `link` is the number of the section that this one refers to: of symbols, that of their names.
    """

    name: bytes
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def is_code(self) -> bool:
        """Whether it holds instructions."""
        return bool(self.flags & EXECUTABLE)

    @property
    def is_loaded(self) -> bool:
        """Whether it is in memory when the program runs."""
        return bool(self.flags & ALLOCATED)

    @property
    def span(self) -> slice:
        """Its place in the file; empty for one that takes no room there."""
        if self.kind == NOBITS:  # its offset may lie behind the end of the file
            return slice(0, 0)
        return slice(self.offset, self.offset + self.size)


def sections(data: bytes) -> tuple[Section, ...]:
    """All sections in the file's order; none when these bytes are no whole ELF file.

    Sections that claim the same bytes again and again are none either: they would be read as often.
    """
    if not data.startswith(MAGIC):
        return ()
    try:
        found = tuple(_sections(data))
    except (struct.error, KeyError, IndexError, OverflowError):
        return ()
    claimed = sum(section.span.stop - section.span.start for section in found)
    whole = all(section.span.stop <= len(data) for section in found)
    return found if whole and claimed <= _MOST_CLAIMED * len(data) else ()


class Sizes(NamedTuple):
    """The bytes of a program in memory, as a tuple: JSON has it in few letters."""

    text: int
    data: int
    bss: int


def sizes(data: bytes) -> Sizes | None:
    """Count as size(1) does in the Berkeley format; None for what is no whole ELF file.

    Source: FreeBSD's contrib/elftoolchain/size/size.c, berkeley_calc(): of what is in memory, what
    is not written to is text, and what takes no room in the file is bss.
    """
    counted = {"text": 0, "data": 0, "bss": 0}
    for section in sections(data):
        if section.is_loaded:
            is_text = section.is_code or not section.flags & WRITABLE
            kind = "text" if is_text else "bss" if section.kind == NOBITS else "data"
            counted[kind] += section.size
    return Sizes(**counted) if 0 < sum(counted.values()) <= _MOST_BYTES else None


def source_names(data: bytes) -> frozenset[str]:
    """The names, without directories, of the files that a program was compiled from.

    They are its symbols of the kind STT_FILE; none for a program that was stripped.
    """
    names = {name for name, kind, _, _ in symbols(data, sections(data)) if kind == _FILE}
    return frozenset(name.rpartition("/")[2] for name in names)


def symbols(data: bytes, found: Sequence[Section]) -> Iterator[tuple[str, int, int, int]]:
    """Each symbol's name, kind, section and value, of all tables of a file with these sections."""
    for table in found:
        if table.kind != _SYMBOLS or table.link >= len(found):
            continue
        texts, entries = data[found[table.link].span], data[table.span]
        layout = struct.Struct(_ORDER[data[5]] + _SYMBOL[data[4]])
        for entry in layout.iter_unpack(entries[: len(entries) // layout.size * layout.size]):
            if data[4] == 1:
                name, value, _, info, _, section = entry
            else:
                name, info, _, section, value, _ = entry
            yield _text_at(texts, name).decode(errors="replace"), info & 0xF, section, value


def _text_at(data: bytes, start: int) -> bytes:
    return data[start : max(data.find(b"\0", start, start + _LONGEST_NAME), start)]


def _sections(data: bytes) -> Iterator[Section]:
    offset_at, word, counts_at, layout = _HEADER[data[4]]
    order = _ORDER[data[5]]
    (table,) = struct.unpack_from(order + word, data, offset_at)
    size, count, names_at = struct.unpack_from(order + "3H", data, counts_at)
    headers = [struct.unpack_from(order + layout, data, table + i * size) for i in range(count)]
    names = headers[names_at][4] if headers else 0
    for name, kind, flags, address, offset, length, link in headers:
        yield Section(
            name=_text_at(data, names + name),
            kind=kind,
            flags=flags,
            address=address,
            offset=offset,
            size=length,
            link=link,
        )


# What kldxref(8) writes where FreeBSD builds itself: version 1 of the format of sys/linker.h, for
# relocatable files of 64 bits, without devmatch(8)'s part.
NAME = "linker.hints"
_FORMAT = 1
_MODULE, _VERSION = 2, 3  # kinds of metadata: MDT_MODULE, MDT_VERSION of sys/module.h
_SET = b"set_modmetadata_set"
_METADATA = struct.Struct("<iiQQ")  # struct mod_metadata: its version, kind, data, name
_RELOCATABLE = (2, 1, 1)  # of ELF's header: 64 bits, little endian, ET_REL
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
                named, place = pointers[section, start + 16]
                name = _text_at(data, found[named].offset + place)
                of, at = pointers[section, start + 8]
                (version,) = struct.unpack_from("<i", data, found[of].offset + at)
                yield kind, name, version if kind == _VERSION else 0


def _pointers(data: bytes, found: Sequence[Section]) -> Iterator[tuple[_Place, _Place]]:
    """Where each pointer is, and where it will lead to when the module is loaded."""
    places = [to[2:] for to in symbols(data, found)]
    numbers = {section.name: number for number, section in enumerate(found)}
    for section in found:
        if section.name.startswith(b".rela") and section.name[5:] in numbers:
            number = numbers[section.name[5:]]
            entries = data[section.span]
            for offset, info, addend in _RELOCATION.iter_unpack(entries[: len(entries) // 24 * 24]):
                to, value = places[info >> 32]
                if to < len(found):
                    yield (number, offset), (to, value + addend)


def _text(text: bytes) -> bytes:
    return struct.pack("B", min(len(text), _LONGEST)) + text[:_LONGEST]


def _aligned(record: bytes) -> bytes:
    return record + bytes(-len(record) % 4)
