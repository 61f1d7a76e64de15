"""The functions of a kernel, and the instructions that a guest executed in each, by QEMU's log."""

import re
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.elf import FUNCTION, NO_TYPE, NOTES, Section, sections, symbols
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.model import EXECUTED, Profile, Stack
from buildbot_bench.lab.virtual.phases import Executed

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
    code = {number for number, section in enumerate(found) if section.is_code}
    functions = dict(
        sorted(
            (value, name)
            for name, kind, home, value in symbols(data, found)
            if name and kind in {NO_TYPE, FUNCTION} and home in code
        )
    )
    try:
        build_id = next(filter(None, (_build_id(data, section) for section in found)), "")
    except struct.error:
        return Symbols()
    return Symbols(addresses=tuple(functions), names=tuple(functions.values()), build_id=build_id)


def _build_id(data: bytes, section: Section) -> str:
    if section.kind != NOTES:
        return ""
    content = data[section.span]
    name_length, length, kind = struct.unpack_from("<III", content)
    start = 12 + (name_length + 3) // 4 * 4
    return content[start : start + length].hex() if kind == _BUILD_ID else ""


# `-d exec,nochain` logs each block before it runs, here blocks of one instruction. Those that did
# not run, or run anew (accesses to devices under -icount), are logged as such.
_RUN = re.compile(rb"Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
_NOT_RUN = re.compile(
    rb"Stopped execution of TB chain before 0x[0-9a-f]+ \[([0-9a-f]+)\]"
    rb"|cpu_io_recompile: rewound execution of TB to ([0-9a-f]+)"
)


def executed(lines: Iterable[bytes]) -> Executed:
    """How often each address was executed."""
    counts: Counter[bytes] = Counter()
    for line in lines:
        if run := _RUN.match(line):
            counts[run[1]] += 1
        elif not_run := _NOT_RUN.match(line):
            counts[(not_run[1] or not_run[2]).rjust(16, b"0")] -= 1
    return Counter({int(address, 16): count for address, count in counts.items()})


def read_trace(path: Path) -> Executed:
    """What a log holds."""
    try:
        with path.open("rb") as file:
            found = executed(file)
    except OSError as error:
        raise InfraError(f"QEMU wrote no log of what it executed: {error}") from error
    if not found:
        raise InfraError(
            "QEMU logged no instruction", hint="it must be built with its TCG and its log"
        )
    return found


def by_function(counts: Executed, packets: int, symbols: Symbols) -> Profile:
    """The same as a profile: how many instructions each function executed, the most first."""
    totals: Counter[str] = Counter()
    for address, count in counts.items():
        totals[symbols.name_at(address)] += count
    stacks = [Stack(frames=(name,), samples=count) for name, count in totals.most_common()]
    return Profile(stacks=tuple(stacks), event=EXECUTED, packets=packets)


def as_table(profile: Profile) -> str:
    """Instructions per packet by function, one a line."""
    lines = [f"{stack.samples / profile.packets:10.2f}  {stack.leaf}" for stack in profile.stacks]
    return "\n".join(["instructions per packet", *lines, ""])
