"""The functions of a kernel and their sources, and what QEMU's plugin or log counts in each."""

import mmap
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from buildbot_bench.core.elf import FUNCTION, NO_TYPE, NOTES, Section, sections, symbols
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.model import EXECUTED, Profile, Stack, path_in_git
from buildbot_bench.lab.drivers.child import compile_program, fingerprint
from buildbot_bench.lab.virtual.bursts import Executed

# FreeBSD 13.1 executes some 4000 different instructions for a burst; each may be translated anew
# whenever the clock cuts a block short. In bytes 12 each, of a file with holes.
_SLOTS = 1 << 20
_COUNTS_AT = 16  # bytes: the header, padded
_ADDRESSES_AT = _COUNTS_AT + 4 * _SLOTS
_SIZE = _ADDRESSES_AT + 8 * _SLOTS
_HEADER = struct.Struct("=III")  # on, used, overflow
_ON = struct.Struct("=I")
# Optimised, as it is called for each instruction of the guest.
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden")
_MAJOR = re.compile(r"version (\d+)\.")
# QEMU 9 takes version 2 of its interface or newer, an older QEMU no newer one than 1.
_FIRST_OF_API_2 = 9


class Plugin:
    """One QEMU's counts; `library` is the compiled plugin, `directory` where its memory may lie."""

    def __init__(self, library: Path, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.library = library
        self._addresses: list[int] = []
        try:
            self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - closed by close()
            self._file.truncate(_SIZE)
            self._memory = mmap.mmap(self._file.fileno(), _SIZE)
        except OSError as error:
            raise InfraError(f"no memory to share with QEMU: {error}") from error

    @property
    def descriptor(self) -> int:
        """What QEMU must inherit."""
        return self._file.fileno()

    def switch_on(self) -> None:
        """Count what QEMU translates from now on."""
        _ON.pack_into(self._memory, 0, 1)

    def clear(self) -> None:
        """Set all counts to zero."""
        used = self._used()
        self._memory[_COUNTS_AT : _COUNTS_AT + 4 * used] = bytes(4 * used)

    def read(self) -> Executed:
        """How often each address was executed since they were zero; InfraError for none."""
        used = self._used()
        if used > len(self._addresses):
            known = len(self._addresses)
            part = self._memory[_ADDRESSES_AT + 8 * known : _ADDRESSES_AT + 8 * used]
            self._addresses.extend(memoryview(part).cast("Q"))
        counts = memoryview(self._memory[_COUNTS_AT : _COUNTS_AT + 4 * used]).cast("I")
        found: Executed = Counter()
        for address, count in zip(self._addresses, counts, strict=True):
            if count:
                found[address] += count
        return found

    def close(self) -> None:
        """Let go of it; QEMU's part of it goes with QEMU."""
        self._memory.close()
        self._file.close()

    def _used(self) -> int:
        _, used, overflow = _HEADER.unpack_from(self._memory)
        if overflow:
            raise InfraError(
                f"the kernel has more than {_SLOTS} instructions for its packets",
                hint="say how many bursts are to be counted by `traced_bursts`, or measure pps",
            )
        return int(used)


def compiled_plugin(version: str, home: Path) -> Path:
    """The plugin for a QEMU that calls itself so; compiles it when sources or flags are new."""
    source = resources.files("buildbot_bench.lab.virtual") / "tracer" / "tracer.c"
    flags = (*_FLAGS, f"-DSLOTS={_SLOTS}", f"-DAPI={_interface(version)}")
    target = home / "tools" / f"tracer-{fingerprint(flags, [source])}" / "tracer.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with resources.as_file(source) as path:
            compile_program(target, [str(path)], flags)
    return target


def _interface(version: str) -> int:
    major = _MAJOR.search(version)
    return 2 if major and int(major[1]) >= _FIRST_OF_API_2 else 1


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


# As LLVM and binutils have them. Debian names LLVM's with its version, FreeBSD's packages with
# neither a dash nor a dot (llvm-symbolizer19).
_LLVM, _BINUTILS = "llvm-symbolizer", "addr2line"
_VERSIONED = re.compile(rf"{_LLVM}-?([0-9]{{1,2}})")
_LIMIT_S = 60.0  # the line tables of GENERIC take a second
# A packet visits some 300 functions of FreeBSD.
_MOST_FUNCTIONS = 4096
_MOST_BYTES = 1 << 20  # of the answer: 256 for each function
_ADDRESS = re.compile(r"0x([0-9a-f]{1,16})")
_ANSWER = re.compile(r"(.+):([1-9][0-9]{0,6})(?: \(discriminator [0-9]+\))?")


def symbolizer() -> str | None:
    """Where the program is: LLVM's, else binutils'; None when there is neither."""
    return shutil.which(_LLVM) or _newest_versioned() or shutil.which(_BINUTILS)


def places_of(executed: Collection[int], symbols: Symbols, file: Path) -> dict[str, str]:
    """The `path:line` of each function that one of the addresses lies in, by name.

    `file` is the ELF file with the line tables. Functions of one name at several places have none.
    """
    program = symbolizer()
    begins = sorted({begin for at in executed if (begin := symbols.begin_of(at)) is not None})
    if program is None or not begins:
        return {}
    answers = _answers(_ask(program, file, begins[:_MOST_FUNCTIONS]))
    found: dict[str, set[str]] = {}
    for begin in begins:
        found.setdefault(symbols.name_at(begin), set()).add(_place(answers.get(begin, "")))
    return {name: place for name, (place, *more) in found.items() if place and not more}


def _newest_versioned() -> str | None:
    """A program whose name ends in LLVM's version, the newest of the first directory with one."""
    for directory in os.get_exec_path():
        try:
            names = [path.name for path in Path(directory).iterdir()]
        except OSError:
            continue
        versions = {int(match[1]): name for name in names if (match := _VERSIONED.fullmatch(name))}
        for version in sorted(versions, reverse=True):
            if path := shutil.which(versions[version], path=directory):
                return path
    return None


def _ask(program: str, file: Path, addresses: Sequence[int]) -> str:
    """What the program says: each address, and behind it its lines, those inlined first."""
    if _BINUTILS in Path(program).name:
        command = [program, "-e", str(file), "--addresses", "--inlines"]
    else:
        options = ("--output-style=GNU", "--functions=none", "--addresses", "--inlines")
        command = [program, f"--obj={file}", *options]
    # Neither is to ask the network for what the file lacks.
    environment = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"0x{address:x}\n" for address in addresses).encode())
        asked.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - a list, no shell
                command,
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        except OSError:
            return ""
        return _read(process).decode("utf-8", errors="replace")


def _read(process: subprocess.Popen[bytes]) -> bytes:
    """What a process says until its end, its time or its room is over; then it is ended."""
    watch = threading.Timer(_LIMIT_S, process.kill)
    watch.start()
    try:
        with process:
            said = process.stdout.read(_MOST_BYTES) if process.stdout else b""
            process.kill()
    finally:
        watch.cancel()
    return said


def _answers(said: str) -> dict[int, str]:
    """The last line of each address; those before it are of what is inlined there."""
    found: dict[int, str] = {}
    address = -1
    for line in said.split("\n"):
        if told := _ADDRESS.fullmatch(line):
            address = int(told[1], 16)
        elif line:
            found[address] = line
    return found


def _place(answer: str) -> str:
    match = _ANSWER.fullmatch(answer)
    if match is None or match[1].startswith("??"):
        return ""
    return f"{path_in_git(match[1])}:{match[2]}"
