"""The functions and the build ID of a kernel's ELF file.

The format is that of the System V ABI, chapters 4 and 5, 32 or 64 bits, little-endian. The lab has
the standard library alone; pyelftools would read this too.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.elf import (
    FUNCTION,
    NO_TYPE,
    NOTES,
    SYMBOLS,
    Section,
    sections,
    symbols,
)

_LITTLE_ENDIAN = 1  # in the header
_BUILD_ID = 3  # type of a note of GNU's
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


def read_symbols(path: Path) -> Symbols:
    """The symbols of an ELF file; none for a file of another kind, or a damaged one."""
    data = path.read_bytes()
    if data[5:6] != bytes([_LITTLE_ENDIAN]):
        return Symbols()
    found = sections(data)
    try:
        functions = dict(sorted(_functions(data, found)))
        build_id = next(filter(None, (_build_id(data, section) for section in found)), "")
    except (struct.error, IndexError, ValueError):
        return Symbols()
    return Symbols(addresses=tuple(functions), names=tuple(functions.values()), build_id=build_id)


def _functions(data: bytes, found: Sequence[Section]) -> Iterator[tuple[int, str]]:
    for table in (section for section in found if section.kind == SYMBOLS):
        names = data[found[table.link].span]
        for start, kind, home, value in symbols(data, table):
            if kind not in (NO_TYPE, FUNCTION) or not 0 < home < len(found):
                continue
            if name := _text(names, start) * found[home].is_code:
                yield value, name


def _build_id(data: bytes, section: Section) -> str:
    if section.kind != NOTES:
        return ""
    content = data[section.span]
    name_length, length, kind = struct.unpack_from("<III", content)
    start = 12 + (name_length + 3) // 4 * 4
    return content[start : start + length].hex() if kind == _BUILD_ID else ""


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode("ascii", "replace")
