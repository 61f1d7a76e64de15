"""What a kernel's file says of itself: its functions and its build ID; it runs nothing.

The format is that of the System V ABI, chapters 4 and 5 ("Object Files", "Program Loading"), 32
or 64 bits, little-endian. A damaged file is like one that says nothing.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"\x7fELF"
_LITTLE_ENDIAN = 1
_SYMBOL_TABLE, _NOTES = 2, 7
_NO_TYPE, _FUNCTION = 0, 2
_BUILD_ID = 3
_EXECUTABLE = 4
_UNKNOWN = "?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbols:
    """Functions by their ascending addresses, and the linker's build ID, empty if it made none."""

    addresses: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    build_id: str = ""

    def begin_of(self, address: int) -> int | None:
        """Where the function begins that an address lies in; None before the first one."""
        place = bisect_right(self.addresses, address)
        return self.addresses[place - 1] if place else None

    def name_at(self, address: int) -> str:
        """The function that an address lies in, or "?"."""
        place = bisect_right(self.addresses, address)
        return self.names[place - 1] if place else _UNKNOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    kind: int
    flags: int
    content: bytes
    link: int


def read_symbols(path: Path) -> Symbols:
    """The symbols of an ELF file; none for a file of another kind, or a damaged one."""
    data = path.read_bytes()
    if data[:4] != _MAGIC or data[5:6] != bytes([_LITTLE_ENDIAN]):
        return Symbols()
    try:
        wide = data[4] == 2
        sections = _sections(data, wide=wide)
        functions = dict(sorted(_functions(sections, wide=wide)))
        build_id = next(filter(None, map(_build_id, sections)), "")
    except (struct.error, IndexError, ValueError):
        return Symbols()
    return Symbols(addresses=tuple(functions), names=tuple(functions.values()), build_id=build_id)


def _sections(data: bytes, *, wide: bool) -> list[_Section]:
    table = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)[0]
    size, count = struct.unpack_from("<HH", data, 58 if wide else 46)
    layout = struct.Struct("<IIQQQQI" if wide else "<IIIIIII")
    found = []
    for number in range(count):
        _, kind, flags, _, offset, length, link = layout.unpack_from(data, table + number * size)
        content = data[offset : offset + length]
        found.append(_Section(kind=kind, flags=flags, content=content, link=link))
    return found


def _functions(sections: list[_Section], *, wide: bool) -> Iterator[tuple[int, str]]:
    layout = struct.Struct("<IBBHQQ" if wide else "<IIIBBH")
    for table in (section for section in sections if section.kind == _SYMBOL_TABLE):
        names = sections[table.link].content
        for entry in layout.iter_unpack(table.content):
            fields = _symbol(entry, wide=wide)
            kind, home = fields["info"] & 0xF, fields["section"]
            if kind not in (_NO_TYPE, _FUNCTION) or not 0 < home < len(sections):
                continue
            if name := _text(names, fields["name"]) * bool(sections[home].flags & _EXECUTABLE):
                yield fields["value"], name


def _symbol(entry: tuple[int, ...], *, wide: bool) -> Mapping[str, int]:
    order = "name info other section value size" if wide else "name value size info other section"
    return dict(zip(order.split(), entry, strict=True))


def _build_id(section: _Section) -> str:
    if section.kind != _NOTES:
        return ""
    name_length, length, kind = struct.unpack_from("<III", section.content)
    start = 12 + (name_length + 3) // 4 * 4
    return section.content[start : start + length].hex() if kind == _BUILD_ID else ""


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode("ascii", "replace")
