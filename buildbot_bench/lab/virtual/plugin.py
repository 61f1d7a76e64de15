"""The QEMU plugin (tracer/tracer.c) that counts each instruction: compiled, loaded and read."""

import mmap
import re
import struct
import tempfile
from collections import Counter
from importlib import resources
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.drivers.toolchain import compile_program, fingerprint
from buildbot_bench.lab.virtual.phases import Executed

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
